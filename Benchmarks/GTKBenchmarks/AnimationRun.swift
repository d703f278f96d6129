import BenchmarkReport
import CWebImageGTK
import Foundation
import WebImageGTK

/// Twenty pictures of 240 by 180 points with an animation each, 60 frames at 33 a second.
@MainActor final class AnimationRun {
    enum Peer: String, CaseIterable {
        /// All of one file: they share its frames.
        case sameFile = "same-file"
        /// Each of a file of its own.
        case files
        /// `GdkPixbufAnimationIter` in a tick callback, a texture for each new frame.
        case pixbuf
    }

    nonisolated static let size = PixelSize(width: 240, height: 180)
    private nonisolated static let (pictureCount, frameCount, duration) = (20, 60, 0.03)

    private let peer: Peer
    private let file: String
    private let seconds: Double
    private var shownCount = 0
    private var pictures: [WebPicture] = []
    private var tickers: [FrameCall] = []

    /// - Parameter arguments: who, the file, seconds.
    init(_ arguments: [String]) throws {
        guard arguments.count == 3, let peer = Peer(rawValue: arguments[0]), let seconds = Double(arguments[2]) else {
            throw WrongResult(description: "animations PEER FILE SECONDS")
        }
        (self.peer, file, self.seconds) = (peer, arguments[1], seconds)
    }

    /// Writes the file: a square that wanders over a gradient.
    nonisolated static func write(to path: String) throws {
        var animation = EncodableAnimation()
        for number in 0..<frameCount {
            var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
            let left = number * (size.width - 40) / frameCount
            pixels.withUnsafeMutableBytes { bytes in
                for pixel in 0..<bytes.count / 4 {
                    let (x, y) = (pixel % size.width, pixel / size.width)
                    let isInside = (left..<left + 40).contains(x) && (70..<110).contains(y)
                    let value =
                        isInside ? SIMD4<UInt8>(240, 40, 40, 255) : SIMD4(UInt8(x), UInt8(y), UInt8(number * 4), 255)
                    bytes.storeBytes(of: value, toByteOffset: pixel * 4, as: SIMD4<UInt8>.self)
                }
            }
            animation.append(Image(pixels: pixels.freeze(isOpaque: true)), duration: duration)
        }
        try CodecRegistry.shared.encode(animation, as: .gif).write(to: URL(filePath: path))
    }

    func figures() throws -> [String: Double] {
        MainLoop.install()
        let window = gtk_window_new().map { ObjectPointer($0) }
        let flow = ObjectPointer(gtk_grid_new())
        for number in 0..<Self.pictureCount {
            let widget = try makePicture()
            gtk_widget_set_size_request(widget, gint(Self.size.width), gint(Self.size.height))
            gtk_grid_attach(
                flow.address.assumingMemoryBound(to: GtkGrid.self), widget, gint(number % 5), gint(number / 5), 1, 1)
        }
        let asWindow = window?.address.assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_child(asWindow, flow.widget)
        gtk_window_present(asWindow)
        // The first time round the frames are decoded.
        run(for: Double(Self.frameCount) * Self.duration + 0.2)
        let dropped = droppedCount
        shownCount = 0
        let start = ProcessFigures()
        run(for: seconds)
        let used = ProcessFigures()
        let shares = used.shares(since: start)
        let expected = (used.wall - start.wall) / Self.duration * Double(Self.pictureCount)
        guard shownCount > Self.pictureCount else { throw WrongResult(description: "\(peer.rawValue): nothing moves") }
        return [
            "cpu": shares.all * 100, "main": shares.main * 100, "shown": Double(shownCount) / expected * 100,
            "dropped": Double(droppedCount - dropped) / expected * 100, "peak": ProcessFigures.peakMebibytes,
        ]
    }

    private var droppedCount: Int { pictures.reduce(0) { $0 + ($1.player?.droppedFrameCount ?? 0) } }

    private func run(for seconds: Double) {
        let end = g_get_monotonic_time() + gint64(seconds * 1e6)
        while g_get_monotonic_time() < end { g_main_context_iteration(nil, gboolean(1)) }
    }

    private var shared: AnimatedImage?

    private func makePicture() throws -> UnsafeMutablePointer<GtkWidget> {
        guard peer != .pixbuf else { return try makePixbufPicture() }
        let picture = WebPicture()
        let image =
            if peer == .sameFile, let shared { shared } else {
                try AnimatedImage(data: Data(contentsOf: URL(filePath: file)))
            }
        shared = image
        picture.playback.loopLimit = .endless
        picture.onAnimationEvent = { [weak self] in if case .frame = $0 { self?.shownCount += 1 } }
        picture.setImage(image)
        pictures.append(picture)
        return picture.widget
    }

    private func makePixbufPicture() throws -> UnsafeMutablePointer<GtkWidget> {
        let picture = ObjectPointer(gtk_picture_new())
        guard let animation = gdk_pixbuf_animation_new_from_file(file, nil),
            let iterator = gdk_pixbuf_animation_get_iter(animation, nil)
        else { throw WrongResult(description: "gdk-pixbuf reads no animation") }
        let ticker = FrameCall(widget: picture.widget) { [weak self] in
            guard gdk_pixbuf_animation_iter_advance(iterator, nil) != 0,
                let texture = gdk_texture_new_for_pixbuf(gdk_pixbuf_animation_iter_get_pixbuf(iterator))
            else { return }
            gtk_picture_set_paintable(picture.opaque, texture)
            g_object_unref(UnsafeMutableRawPointer(texture))
            self?.shownCount += 1
        }
        tickers.append(ticker)
        return picture.widget
    }
}
