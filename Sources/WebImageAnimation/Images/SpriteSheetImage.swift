internal import Glibc
public import WebImageCore

/// An animation whose frames lie side by side in one picture.
///
/// ```swift
/// let walk = try SpriteSheetImage(sheet: sheet, columns: 8, rows: 2, frameDuration: 1.0 / 12)
/// let image = try AnimatedImage(walk)
/// ```
///
/// Frames are cut out when they are wanted; only the sheet is kept.
public struct SpriteSheetImage: AnimationSource {
    /// The identity all copies of this value share.
    public let identity = AnimationIdentity()
    /// The picture with all frames.
    public let sheet: PixelBuffer
    /// Where each frame lies in the sheet, in pixels.
    public let contentRects: [PixelRect]
    /// Their durations; every one can be had by itself.
    public let frames: [AnimationFrame]
    /// How often it plays; 0 for ever.
    public let loopCount: Int

    /// An animation of parts of `sheet`.
    ///
    /// - Parameters:
    ///   - contentRects: where the frames lie, in pixels, all of one size; in the order in which they are shown, and one
    ///     may be shown several times.
    ///   - durations: how long each is shown, in seconds; as in files, 0.01 and less mean 0.1.
    ///   - loopCount: how often it plays; 0, the default, for ever, as does less.
    /// - Throws: ``WebImageCore/WebImageError/invalidAnimation(reason:)`` where there is no frame, a duration is missing,
    ///   negative or no number, a rectangle has no pixels or does not lie in the sheet, or they are of several sizes.
    public init(
        sheet: PixelBuffer, contentRects: [PixelRect], durations: [Double], loopCount: Int = 0
    ) throws(WebImageError) {
        frames = try FrameDurations(durations, frameCount: contentRects.count).frames
        for (frame, rect) in contentRects.enumerated() {
            guard rect.width > 0, rect.height > 0, rect.clamped(to: sheet.size) == rect else {
                throw .invalidAnimation(reason: .outsideSheet(rect, frame: frame, sheet: sheet.size))
            }
            guard rect.size == contentRects[0].size else {
                throw .invalidAnimation(reason: .frameSize(rect.size, frame: frame, expected: contentRects[0].size))
            }
        }
        self.sheet = sheet
        self.contentRects = contentRects
        self.loopCount = max(0, loopCount)
    }

    /// An animation of parts of `sheet` that are all shown for `frameDuration` seconds.
    ///
    /// - Throws: as ``init(sheet:contentRects:durations:loopCount:)``.
    public init(
        sheet: PixelBuffer, contentRects: [PixelRect], frameDuration: Double, loopCount: Int = 0
    ) throws(WebImageError) {
        try self.init(
            sheet: sheet, contentRects: contentRects,
            durations: [Double](repeating: frameDuration, count: contentRects.count), loopCount: loopCount)
    }

    /// An animation of the cells of a grid, from left to right, then from top to bottom; pixels that are left over at the
    /// right and the bottom belong to none.
    ///
    /// - Parameter frameCount: how many cells are frames; all, unless the last row is not full.
    /// - Throws: as ``init(sheet:contentRects:durations:loopCount:)``.
    public init(
        sheet: PixelBuffer, columns: Int, rows: Int, frameCount: Int? = nil, frameDuration: Double, loopCount: Int = 0
    ) throws(WebImageError) {
        // More cells than pixels would be empty, and their number is not to be believed.
        guard (1...sheet.width).contains(columns), (1...sheet.height).contains(rows) else {
            throw .invalidAnimation(reason: .noFrames)
        }
        let cell = PixelSize(width: sheet.width / columns, height: sheet.height / rows)
        let count = frameCount ?? columns * rows
        let rects = (0..<min(max(0, count), columns * rows + 1)).map { index in
            PixelRect(
                x: index % columns * cell.width, y: index / columns * cell.height, width: cell.width,
                height: cell.height)
        }
        try self.init(sheet: sheet, contentRects: rects, frameDuration: frameDuration, loopCount: loopCount)
    }

    /// The size of every frame, in pixels.
    public var frameSize: PixelSize { contentRects[0].size }
    /// A sheet is there or not.
    public var isComplete: Bool { true }
    /// The sheet's.
    public var byteCount: Int { sheet.byteCount }

    /// A reader that cuts frames out.
    public func makeFrameReader() -> any AnimationFrameReader { Reader(self) }

    private final class Reader: AnimationFrameReader {
        private let image: SpriteSheetImage

        init(_ image: SpriteSheetImage) { self.image = image }

        func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
            try cancellation?.check()
            let (rect, sheet) = (image.contentRects[index], image.sheet)
            var pixels = try MutablePixelBuffer(width: rect.width, height: rect.height)
            let rowByteCount = pixels.bytesPerRow
            pixels.withUnsafeMutableBytes { destination in
                guard let destination = destination.baseAddress else { return }
                let corner = sheet.baseAddress + rect.y * sheet.bytesPerRow + rect.x * 4
                for row in 0..<rect.height {
                    memcpy(destination + row * rowByteCount, corner + row * sheet.bytesPerRow, rect.width * 4)
                }
            }
            return pixels.freeze(isOpaque: sheet.isOpaque)
        }
    }
}
