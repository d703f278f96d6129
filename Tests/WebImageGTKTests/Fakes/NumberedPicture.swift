import CWebImageGTK
import Dispatch
import FoundationEssentials

@testable import WebImageGTK

/// A JPEG file that spells a number: 6 by 3 blocks, of which the first is always white and the others are the bits of the
/// number, white for 1.
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

    /// The number that a picture spells at any size; `nil` where it is none.
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

/// Answers each URL with the picture of the number at its end, the newest first, on a thread of its own.
final class NumberLoader: ImageLoader {
    static let scheme = "number"
    private let waiting = Lock<[Load]>([])
    private let queue = DispatchQueue(label: "number-loader")

    private final class Load: LoaderTask {
        let url: URL
        private let handler: Lock<(@Sendable (LoaderEvent) -> Void)?>

        init(_ url: URL, _ handler: @escaping @Sendable (LoaderEvent) -> Void) {
            self.url = url
            self.handler = Lock(handler)
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
