internal import Glibc
internal import WebImageCore

/// An animation of parts of an image, which are copied when needed.
struct SpriteSheet: AnimationSource {
    let identity = AnimationIdentity()
    let sheet: PixelBuffer
    /// In pixels.
    let contentRects: [PixelRect]
    let frames: [AnimationFrame]
    let loopCount: Int

    init(
        sheet: PixelBuffer, contentRects: [PixelRect], durations: [Duration], loopCount: Int = 0
    ) throws(WebImageError) {
        frames = try FrameDurations(durations, frameCount: contentRects.count).frames
        for (frame, rect) in contentRects.enumerated() {
            guard rect.width > 0, rect.height > 0, rect.clamped(to: sheet.size) == rect else {
                throw .invalidFrames(reason: .outsideSheet(rect, frame: frame, sheet: sheet.size))
            }
            guard rect.size == contentRects[0].size else {
                throw .invalidFrames(reason: .size(rect.size, frame: frame, expected: contentRects[0].size))
            }
        }
        self.sheet = sheet
        self.contentRects = contentRects
        self.loopCount = max(0, loopCount)
    }

    init(
        sheet: PixelBuffer, columns: Int, rows: Int, frameCount: Int? = nil, frameDuration: Duration, loopCount: Int = 0
    ) throws(WebImageError) {
        // A grid of more cells than pixels has empty cells, and its number of cells may overflow.
        guard (1...sheet.width).contains(columns), (1...sheet.height).contains(rows) else {
            throw .invalidFrames(reason: .none)
        }
        let cell = PixelSize(width: sheet.width / columns, height: sheet.height / rows)
        let count = frameCount ?? columns * rows
        let rects = (0..<min(max(0, count), columns * rows + 1)).map { index in
            PixelRect(
                x: index % columns * cell.width, y: index / columns * cell.height, width: cell.width,
                height: cell.height)
        }
        try self.init(sheet: sheet, contentRects: rects, durations: [frameDuration], loopCount: loopCount)
    }

    var frameSize: PixelSize { contentRects[0].size }
    var isComplete: Bool { true }
    var byteCount: Int { sheet.byteCount }

    func makeFrameReader() -> any AnimationFrameReader { Reader(self) }

    private final class Reader: AnimationFrameReader {
        private let source: SpriteSheet

        init(_ source: SpriteSheet) { self.source = source }

        func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
            try cancellation?.check()
            let (rect, sheet) = (source.contentRects[index], source.sheet)
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
