internal import CWebImageFormats
internal import WebImageCore
internal import WebImageCoding

/// The file that libavif or libheif reads instead of the original: a ``MediaStill`` or a ``MediaSequence``.
final class LibraryMedia {
    let bytes: UnsafeMutableRawBufferPointer
    let pageCount: Int
    private let isSequence: Bool
    private let isGrid: Bool

    init(
        _ source: UnsafeRawBufferPointer, _ format: LibraryFormat, limits: DecodingLimits, page: Int?,
        hasThumbnails: Bool, hasMetadata: Bool
    ) throws(WebImageError) {
        let made: [UInt8]
        let sequence =
            format == .avif ? try MediaSequence(source, limits: limits, hasMetadata: hasMetadata) : nil
        if let sequence {
            _ = try format.format.page(page, of: 1)
            (made, pageCount, isGrid) = (sequence.bytes, 1, false)
        } else {
            let still = try MediaStill(
                source, format: format.format, limits: limits, page: page, hasThumbnails: hasThumbnails,
                hasMetadata: hasMetadata)
            (made, pageCount, isGrid) = (still.bytes, still.pageCount, still.isGrid)
        }
        isSequence = sequence != nil
        bytes = .allocate(byteCount: made.count, alignment: 16)
        bytes.copyBytes(from: made)
    }

    deinit { bytes.deallocate() }

    /// Tells the library what it has to decode.
    func describe(_ choice: inout cwi_choice) {
        choice.page = -1
        choice.is_sequence = isSequence
        choice.is_grid = isGrid
    }
}
