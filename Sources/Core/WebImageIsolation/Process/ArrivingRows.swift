internal import WebImageCoding
internal import WebImageCore

/// The rows of an image that are copied while a process decodes the others, so that little is left to copy at the end.
///
///     process ──▶ rows 0…a ──▶ rows a…b ──▶ … ──▶ reply
///                   └▶ copy      └▶ copy            └▶ copy the rest, or all if the reply is about other pixels
///
/// Used by the thread that waits for the reply.
final class ArrivingRows {
    private let limits: DecodingLimits
    private var layout: PixelLayout?
    private var pixels: MutablePixelBuffer?
    private var count = 0

    init(_ limits: DecodingLimits) { self.limits = limits }

    /// Copies the rows up to `newCount` that were not copied before.
    ///
    /// - Throws: ``InvalidMessage`` for rows of another image, and what is over the limits.
    func copy(upTo newCount: Int, of layout: PixelLayout, from process: DecoderProcess) throws {
        if self.layout == nil {
            try limits.check(layout.size)
            self.layout = layout
            pixels = try MutablePixelBuffer(width: layout.size.width, height: layout.size.height)
        }
        guard self.layout == layout, newCount > count, let start = pixels?.baseAddress else {
            throw InvalidMessage("its rows do not follow each other")
        }
        try process.read(count..<newCount, of: layout, into: start, isLast: false)
        count = newCount
    }

    /// Copies the rows that are missing, or all if those that arrived are not those of the image. Call it once.
    ///
    /// - Parameter isLast: whether the process does not need the pixels any more, as it may need a frame for the next.
    func finish(_ image: DecodedImage, from process: DecoderProcess, isLast: Bool) throws -> PixelBuffer {
        let size = image.pixels.size
        let isSame = layout?.isSamePlace(as: image.pixels) == true
        if !isSame || count > image.finishedRowCount { removeAll() }
        if count == 0 { pixels = try MutablePixelBuffer(width: size.width, height: size.height) }
        guard let whole = pixels.take() else { preconditionFailure("finished twice") }
        try process.read(count..<size.height, of: image.pixels, into: whole.baseAddress, isLast: isLast)
        return whole.freeze(isOpaque: image.pixels.isOpaque)
    }

    /// Forgets the rows: another process begins anew.
    func removeAll() {
        layout = nil
        pixels = nil
        count = 0
    }
}
