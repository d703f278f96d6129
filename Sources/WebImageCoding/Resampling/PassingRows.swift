internal import CWebImageKernels
internal import Glibc
internal import WebImageCore

/// A picture that a library writes from the top, as a whole at one address, and that is resampled as its rows come: what is
/// resampled goes back to the system.
///
///     │ given back │ written, not yet resampled │ never touched        │
///     └────────────┴────────────────────────────┴──────────────────────┘
///      rows ──────▶ resampler
///
/// So memory is needed for the rows between two calls. The pixels are those of resampling the whole.
final class PassingRows {
    private let size: PixelSize
    private let resampler: RowResampler
    private let mapping: UnsafeMutableRawPointer
    private let mappingByteCount: Int
    /// The address of the top row, good as long as this object lives.
    let baseAddress: UnsafeMutableRawPointer
    private var rowCount = 0
    private var releasedByteCount = 0
    private var isOpaque = true

    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/invalidSize(width:height:)``.
    init(of size: PixelSize, resampledTo targetSize: PixelSize) throws(WebImageError) {
        self.size = size
        resampler = try RowResampler(from: size, to: targetSize)
        mappingByteCount = size.pixelCount * 4 + Self.hugePageByteCount
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        guard let mapping = mmap(nil, mappingByteCount, PROT_READ | PROT_WRITE, flags, -1, 0), mapping != MAP_FAILED
        else { throw .outOfMemory(byteCount: size.pixelCount * 4) }
        self.mapping = mapping
        baseAddress = mapping.alignedUp(toMultipleOf: Self.hugePageByteCount)
        // All of it is fresh; with huge pages, that costs next to nothing.
        madvise(baseAddress, size.pixelCount * 4, MADV_HUGEPAGE)
    }

    deinit { munmap(mapping, mappingByteCount) }

    /// From one row's first byte to the next row's, in bytes.
    var bytesPerRow: Int { size.width * 4 }

    /// Resamples those of the first `count` rows that are new: RGBA as the library leaves them, whose colours are multiplied by
    /// alpha here.
    func resample(upTo count: Int) {
        guard count > rowCount else { return }
        let rows = baseAddress.assumingMemoryBound(to: UInt8.self)
        if !cwi_premultiply(rows + rowCount * bytesPerRow, (count - rowCount) * size.width) { isOpaque = false }
        for row in rowCount..<count { resampler.append(rows + row * bytesPerRow) }
        rowCount = count
        let passed = count * bytesPerRow / Self.hugePageByteCount * Self.hugePageByteCount
        guard passed > releasedByteCount else { return }
        madvise(baseAddress + releasedByteCount, passed - releasedByteCount, MADV_DONTNEED)
        releasedByteCount = passed
    }

    /// The output; rows that never came are clear. Call it once.
    func finish() -> PixelBuffer {
        let missingRowCount = size.height - rowCount
        for _ in 0..<missingRowCount { resampler.append { $0.update(repeating: 0, count: bytesPerRow) } }
        return resampler.finish(isOpaque: isOpaque && missingRowCount == 0)
    }

    /// What is in memory of the rows, where a call passes a few at a time.
    static let windowByteCount = 4 * hugePageByteCount

    private static let hugePageByteCount = 2 << 20
}
