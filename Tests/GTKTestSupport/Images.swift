import CWebImageGTK
import Dispatch
import FoundationEssentials
import GTKObjects
import WebImage

@testable import WebImageGTK

/// The pixels a paintable draws, without a display: snapshot, render node, cairo.
struct Rendering {
    let width: Int
    private var rows: [UInt8] = []

    init(of paintable: OpaquePointer, width: Int, height: Int) {
        self.width = width
        let surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, gint(width), gint(height))
        defer { cairo_surface_destroy(surface) }
        let snapshot = gtk_snapshot_new()
        gdk_paintable_snapshot(paintable, snapshot, Double(width), Double(height))
        if let node = gtk_snapshot_free_to_node(snapshot) {
            let context = cairo_create(surface)
            gsk_render_node_draw(node, context)
            cairo_destroy(context)
            gsk_render_node_unref(node)
        }
        cairo_surface_flush(surface)
        guard let bytes = cairo_image_surface_get_data(surface) else { return }
        let stride = Int(cairo_image_surface_get_stride(surface))
        for row in 0..<height {
            rows += UnsafeBufferPointer(start: bytes + row * stride, count: width * 4)
        }
    }

    /// What a widget in a window draws, without what is below it; after the next frame, so that all is laid out and
    /// drawn.
    @MainActor init(of widget: UnsafeMutablePointer<GtkWidget>) {
        var frameCount = 0
        let ticker = FrameTicker(host: ViewHost.of(widget)) { _ in
            frameCount += 1
            return true
        }
        ticker.start()
        gtk_widget_queue_draw(widget)
        pump("two frames") { frameCount > 2 }
        ticker.stop()
        let paintable = ObjectReference(owning: ObjectPointer(gtk_widget_paintable_new(widget)))
        self.init(
            of: paintable.pointer.opaque, width: Int(gtk_widget_get_width(widget)),
            height: Int(gtk_widget_get_height(widget)))
    }

    /// Red, green, blue and alpha, premultiplied; cairo keeps them as a native-endian word.
    subscript(x: Int, y: Int) -> SIMD4<UInt8> {
        let offset = (y * width + x) * 4
        return SIMD4(rows[offset + 2], rows[offset + 1], rows[offset], rows[offset + 3])
    }
}

/// A JPEG file that spells a number: 6 by 3 blocks, of which the first is always white and the others are the bits of
/// the number, white for 1.
enum NumberedPicture {
    private static let (columnCount, rowCount, blockSide) = (6, 3, 16)

    /// - Parameter number: below 2¹⁷.
    static func file(of number: Int) throws(WebImageError) -> Data {
        let bits = number << 1 | 1
        var pixels = try MutablePixelBuffer(width: columnCount * blockSide, height: rowCount * blockSide)
        pixels.withUnsafeMutableBytes { bytes in
            for pixel in 0..<bytes.count / 4 {
                let (column, row) = (pixel % (columnCount * blockSide), pixel / (columnCount * blockSide))
                let block = row / blockSide * columnCount + column / blockSide
                let value: UInt8 = bits >> block & 1 == 1 ? 255 : 0
                bytes.storeBytes(of: SIMD4(value, value, value, 255), toByteOffset: pixel * 4, as: SIMD4<UInt8>.self)
            }
        }
        return try CodecRegistry.shared.encode(Image(pixels: pixels.freeze(isOpaque: true)), as: .jpeg)
    }

    /// The number that an image spells at any size; `nil` where it is none.
    static func number(in image: Image) -> Int? {
        number(width: image.width, height: image.height) { image.pixels[$0, $1] }
    }

    /// The number that can be read on screen.
    @MainActor static func drawnNumber(of picture: WebPicture) -> Int? {
        let drawing = Rendering(of: gtk_picture_get_paintable(picture.picture), width: 60, height: 30)
        return number(width: 60, height: 30) { drawing[$0, $1] }
    }

    private static func number(width: Int, height: Int, _ pixel: (_ x: Int, _ y: Int) -> SIMD4<UInt8>) -> Int? {
        var bits = 0
        for block in 0..<columnCount * rowCount {
            let (column, row) = (block % columnCount, block / columnCount)
            let middle = pixel(
                (2 * column + 1) * width / (2 * columnCount), (2 * row + 1) * height / (2 * rowCount))
            if middle.x > 127 { bits |= 1 << block }
        }
        return bits & 1 == 1 ? bits >> 1 : nil
    }
}

/// Answers each URL with the image of the number at its end, the newest first, on its own thread.
final class NumberLoader: ImageLoader {
    static let scheme = "number"
    private let waiting = LockBox<[Load]>([])
    private let queue = DispatchQueue(label: "number-loader")

    private final class Load: LoaderTask {
        let url: URL
        private let handler: LockBox<(@Sendable (LoaderEvent) -> Void)?>

        init(_ url: URL, _ handler: @escaping @Sendable (LoaderEvent) -> Void) {
            self.url = url
            self.handler = LockBox(handler)
        }

        func cancel() { handler.withLock { $0.take() }?(.finished(.failure(.cancelled))) }
        func setPriority(_ priority: LoadPriority) {}

        func answer() {
            guard let handler = handler.withLock({ $0.take() }), let number = Int(url.lastPathComponent),
                let file = try? NumberedPicture.file(of: number)
            else { return }
            handler(.response(LoaderResponse(url: url, expectedByteCount: Int64(file.count))))
            handler(.bytes(file))
            handler(.finished(.success(())))
        }
    }

    func canLoad(_ url: URL) -> Bool { url.scheme == Self.scheme }
    func isCacheable(_ url: URL) -> Bool { false }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let load = Load(request.url, handler)
        waiting.withLock { $0.append(load) }
        queue.async { [self] in waiting.withLock { $0.popLast() }?.answer() }
        return load
    }
}

/// An animation of one-coloured frames.
struct TestAnimation: AnimationSource {
    let identity: AnimationIdentity
    let swatches: [Swatch]
    let frames: [AnimationFrame]
    let loopCount: Int
    var isComplete = true
    var frameSize: PixelSize { PixelSize(width: 4, height: 2) }
    var byteCount: Int { 0 }
    private let decodedFrames = LockBox(0)

    init(
        _ swatches: [Swatch], frameDuration: Double = 0.02, loopCount: Int = 0,
        identity: AnimationIdentity = AnimationIdentity(), isComplete: Bool = true
    ) {
        self.swatches = swatches
        self.identity = identity
        self.loopCount = loopCount
        self.isComplete = isComplete
        frames = swatches.map { _ in AnimationFrame(duration: .seconds(frameDuration), isKeyframe: true) }
    }

    /// How many frames have been decoded.
    var decodedFrameCount: Int { decodedFrames.withLock { $0 } }

    func image() throws -> Image {
        var image = try swatches[0].image()
        image.animation = self
        image.frameCount = swatches.count
        return image
    }

    func makeFrameReader() -> any AnimationFrameReader { Reader(source: self) }

    private final class Reader: AnimationFrameReader {
        let source: TestAnimation

        init(source: TestAnimation) { self.source = source }

        func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
            source.decodedFrames.withLock { $0 += 1 }
            return try source.swatches[index].image().pixels
        }
    }
}

/// Returns an image whose pixels a closure chooses.
func picture(
    _ width: Int, _ height: Int, _ pixel: (_ x: Int, _ y: Int) -> SIMD4<UInt8>
) throws(WebImageError) -> Image {
    var pixels = try MutablePixelBuffer(width: width, height: height)
    pixels.withUnsafeMutableBytes { bytes in
        for index in 0..<(width * height) {
            bytes.storeBytes(of: pixel(index % width, index / width), toByteOffset: index * 4, as: SIMD4<UInt8>.self)
        }
    }
    return Image(pixels: pixels.freeze(isOpaque: true))
}
