internal import CWebImageFormats
internal import WebImageCore
internal import WebImageCoding

/// The file that libavif or libheif reads instead of the original: a ``MediaStill`` or a ``MediaSequence``.
final class LibraryMedia {
    let bytes: UnsafeMutableRawBufferPointer
    let pageCount: Int
    private let content: Content

    private enum Content {
        case still(MediaDemand)
        case sequence(MediaSequence)
    }

    init(
        _ source: UnsafeRawBufferPointer, _ format: LibraryFormat, limits: DecodingLimits, page: Int?,
        hasThumbnails: Bool, hasMetadata: Bool
    ) throws(WebImageError) {
        let made: [UInt8]
        let sequence =
            format == .avif ? try MediaSequence(source, limits: limits, hasMetadata: hasMetadata) : nil
        if let sequence {
            _ = try format.format.page(page, of: 1)
            (made, pageCount, content) = (sequence.bytes, 1, .sequence(sequence))
        } else {
            let still = try MediaStill(
                source, format: format.format, limits: limits, page: page, hasThumbnails: hasThumbnails,
                hasMetadata: hasMetadata)
            (made, pageCount, content) = (still.bytes, still.pageCount, .still(still.demand))
        }
        bytes = .allocate(byteCount: made.count, alignment: 16)
        bytes.copyBytes(from: made)
    }

    deinit { bytes.deallocate() }

    func workingByteCount(_ format: LibraryFormat, pixelCount: Int) -> Int {
        switch content {
        case .still(let demand): demand.byteCount(format, pixelCount: pixelCount)
        case .sequence(let sequence): sequence.byteCount
        }
    }

    /// Tells the library what it has to decode.
    func describe(_ choice: inout cwi_choice) {
        choice.page = -1
        switch content {
        case .still(let demand):
            choice.cell_count = Int32(demand.cellCount)
            choice.is_grid = demand.isGrid
            choice.cell_pixel_count = UInt32(clamping: demand.largestCellPixelCount)
        case .sequence(let sequence):
            choice.is_sequence = true
            choice.cell_count = Int32(sequence.trackCount)
            choice.cell_pixel_count = UInt32(clamping: sequence.largestPixelCount)
        }
    }
}
