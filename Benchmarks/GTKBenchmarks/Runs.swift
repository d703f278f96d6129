import BenchmarkSupport
import CWebImageGTK
import Foundation
import GTKObjects
import WebImageGTK

/// Twenty images of 240 by 180 points with an animation each, 60 frames at 33 a second.
@MainActor final class AnimationRun {
    enum Peer: String, CaseIterable {
        /// All of one file: they share its frames.
        case sameFile = "same-file"
        /// Each from its own file.
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

    /// - Parameter arguments: the peer, the file, seconds.
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
            animation.append(Image(pixels: pixels.freeze(isOpaque: true)), duration: .seconds(duration))
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
        picture.playback.loopCount = 0
        picture.onAnimationEvent = { [weak self] in if case .frame = $0 { self?.shownCount += 1 } }
        picture.image = image.image
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

/// A window with 500 views, whose images are decoded and come through the apply queue: as it is, and redrawn all the
/// time.
@MainActor final class BusyRun {
    static let count = 500
    private static let columnCount = 25
    private static let side: gint = 24

    private let window = ObjectPointer(gtk_window_new())
    private let pictures = (0..<count).map { _ in WebPicture() }
    private let images: [Image]
    private var redrawing: FrameCall?
    private var remainingCount = 0
    private var isPainted = false

    init() throws {
        images = try (0..<Self.count).map { number in
            try Image(
                color: Color(red: Double(number % 20) / 19, green: Double(number / 20) / 24, blue: 0.5),
                size: PointSize(width: Double(Self.side), height: Double(Self.side)))
        }
        let grid = ObjectPointer(gtk_grid_new())
        for (index, picture) in pictures.enumerated() {
            gtk_widget_set_size_request(picture.widget, Self.side, Self.side)
            gtk_grid_attach(
                grid.address.assumingMemoryBound(to: GtkGrid.self), picture.widget,
                gint(index % Self.columnCount), gint(index / Self.columnCount), 1, 1)
        }
        let window = window.address.assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_child(window, grid.widget)
        gtk_window_present(window)
        while gtk_widget_get_mapped(self.window.widget) == 0 { g_main_context_iteration(nil, gboolean(1)) }
        if let clock = gtk_widget_get_frame_clock(self.window.widget) {
            ObjectPointer(clock).onSignal("after-paint") { [weak self] in
                guard let self, remainingCount == 0 else { return }
                isPainted = true
            }
        }
    }

    func close() {
        redrawing?.stop()
        gtk_window_destroy(window.address.assumingMemoryBound(to: GtkWindow.self))
    }

    /// Begins to redraw the window in each frame.
    func redrawAllTheTime() {
        let widget = window.widget
        redrawing = FrameCall(widget: widget) { gtk_widget_queue_draw(widget) }
    }

    /// The time from the first result to the frame that shows the last one: the median of nine rounds.
    func medianTime() -> Duration {
        let times = (0..<9).map { round in
            remainingCount = Self.count
            isPainted = false
            let start = ContinuousClock.now
            for (index, picture) in pictures.enumerated() {
                let image = images[(index + round) % images.count]
                MainLoop.callbackQueue.enqueue { [weak self] in
                    MainActor.assumeIsolated {
                        picture.image = image
                        self?.remainingCount -= 1
                    }
                }
            }
            while !isPainted { g_main_context_iteration(nil, gboolean(1)) }
            return ContinuousClock.now - start
        }
        return times.sorted()[times.count / 2]
    }
}

/// A program that shows one photograph in a window and ends: how long it takes from its start until that is drawn.
@MainActor final class FirstPictureRun {
    enum Peer: String, CaseIterable {
        /// From a server, or from the disk cache if that has it.
        case ours
        /// `gtk_picture_set_filename`, before the window is shown.
        case filename
        /// An empty window.
        case nothing
    }

    private let peer: Peer
    private let source: String
    private let cache: String
    private var isLoaded = false
    private var drawn: Double?

    /// - Parameter arguments: the peer, the URL or the path, the folder of the disk cache.
    init(_ arguments: [String]) throws {
        guard arguments.count == 3, let peer = Peer(rawValue: arguments[0]) else {
            throw WrongResult(description: "first-picture PEER SOURCE CACHE")
        }
        (self.peer, source, cache) = (peer, arguments[1], arguments[2])
    }

    func figures() throws -> [String: Double] {
        MainLoop.install()
        let window = ObjectPointer(gtk_window_new())
        let picture = ObjectPointer(gtk_picture_new())
        gtk_widget_set_size_request(picture.widget, 512, 384)
        let asWindow = window.address.assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_child(asWindow, picture.widget)
        var manager: WebImageManager?
        switch peer {
        case .ours:
            let disk = DiskCache(
                configuration: DiskCache.Configuration(directory: URL(filePath: cache, directoryHint: .isDirectory)))
            manager = WebImageManager(
                configuration: WebImageManager.Configuration(
                    cache: ImageCache(memory: MemoryCache(costLimit: 64 << 20), disk: disk)))
            let view = WebPicture(wrapping: picture.widget)
            view.decodesAtDisplaySize = true
            view.contentMode = .scaleAspectFill
            view.onLoadStateChange = { [weak self] in if case .loaded = $0 { self?.isLoaded = true } }
            view.setImage(source, manager: manager ?? .shared)
        case .filename:
            gtk_picture_set_content_fit(picture.opaque, GTK_CONTENT_FIT_COVER)
            gtk_picture_set_filename(picture.opaque, source)
            isLoaded = true
        case .nothing:
            isLoaded = true
        }
        gtk_window_present(asWindow)
        let clock = gtk_widget_get_frame_clock(window.widget)
        clock.map { ObjectPointer($0) }?.onSignal("after-paint") { [weak self] in
            guard let self, drawn == nil, isLoaded, gtk_widget_get_mapped(picture.widget) != 0,
                gtk_widget_get_width(picture.widget) > 0
            else { return }
            drawn = Double(g_get_monotonic_time())
        }
        let deadline = g_get_monotonic_time() + 10_000_000
        while drawn == nil, g_get_monotonic_time() < deadline { g_main_context_iteration(nil, gboolean(1)) }
        guard let drawn else { throw WrongResult(description: "\(peer.rawValue): nothing was drawn") }
        if peer != .nothing, Photographs.number(drawnBy: picture.widget) != 5 {
            throw WrongResult(description: "\(peer.rawValue): the picture was not drawn")
        }
        // The server is asked once, what it sent is to be there the next time.
        if let disk = (manager?.configuration.cache as? ImageCache)?.disk {
            let isStored = DispatchSemaphore(value: 0)
            Task.detached {
                await disk.flush()
                isStored.signal()
            }
            isStored.wait()
        }
        return ["drawn": drawn]
    }
}
