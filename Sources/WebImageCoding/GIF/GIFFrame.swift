internal import FoundationEssentials
internal import WebImageCore

/// One frame of a GIF as it is stored; nothing is unpacked.
struct GIFFrame: Sendable {
    /// On the canvas, which it may exceed.
    let left: Int
    let top: Int
    let size: PixelSize
    let isInterlaced: Bool
    /// Three bytes a colour; its own, or the file's.
    var palette: Data?
    /// In seconds.
    let duration: Double
    let transparentIndex: UInt8?
    let disposal: FramePart.Disposal
    /// The minimum code size, then blocks of codes, each with its length before it, up to the one of length 0. Fewer while
    /// they are still arriving, or where the file is cut.
    var codes = Data()
    /// Whether all blocks are there.
    var isWhole = false

    /// What it changes on a canvas of `canvasSize`; what lies outside is cut off, as browsers do.
    func part(on canvasSize: PixelSize) -> FramePart {
        let width = min(size.width, canvasSize.width - left)
        let height = min(size.height, canvasSize.height - top)
        let isVisible = width > 0 && height > 0
        return FramePart(
            left: isVisible ? left : 0, top: isVisible ? top : 0,
            size: isVisible ? PixelSize(width: width, height: height) : PixelSize(width: 0, height: 0),
            duration: duration, blend: .over, disposal: disposal, isOpaque: isOpaque)
    }

    /// Whether every index there can be has a solid colour.
    private var isOpaque: Bool {
        guard transparentIndex == nil, let palette, let minimumCodeSize = codes.first, minimumCodeSize <= 8 else {
            return false
        }
        return palette.count >= 3 << minimumCodeSize
    }

    /// The graphic control extension, which belongs to the frame that follows it.
    struct Control {
        var duration = FrameDuration.played(0)
        var transparentIndex: UInt8?
        var disposal = FramePart.Disposal.keep

        init() {}

        /// - Parameter offset: where the block's first byte stands, behind its length.
        init(reading data: RawSpan, at offset: Int) {
            guard let flags = data.byte(at: offset),
                let hundredths = data.integer(at: offset + 1, count: 2, isBigEndian: false)
            else { return }
            duration = FrameDuration.played(Double(hundredths) / 100)
            transparentIndex = flags & 1 != 0 ? data.byte(at: offset + 3) : nil
            // 4 means the same as 3 to browsers: some old programs took the value for a set of bits. Larger ones are
            // reserved, and keep.
            disposal =
                switch flags >> 2 & 7 {
                case 2: .clear
                case 3, 4: .restore
                default: .keep
                }
        }
    }
}
