internal import CWebImageKernels
internal import Glibc
internal import WebImageCore

/// Resamples an image while its rows arrive from the top, holding only the rows that further output needs.
///
///     rows ──▶ │ window: the rows under one output row's filter, and a batch │ ──▶ output rows
///
/// The result is identical to ``PixelBuffer/resampled(to:cancellation:)``, of a part of the rows to that of the cropped image. The memory depends on the output's size and
/// the input's width.
final class RowResampler {
    /// Of the rows that arrive.
    private let wholeSize: PixelSize
    /// The part that counts.
    private let part: PixelRect
    private var inputSize: PixelSize { part.size }
    /// A row of which only some columns count; `nil` if all do.
    private let wholeRow: ScratchMemory?
    private var arrivedRowCount = 0
    private let outputSize: PixelSize
    private let rows: ResamplingWeights
    private let columns: ResamplingWeights
    private var output: MutablePixelBuffer?
    private let window: UnsafeMutablePointer<UInt8>
    private let windowRowLimit: Int
    /// One row between the two passes.
    private let line: UnsafeMutablePointer<Int16>
    /// The first row of each output row's filter, relative to the window.
    private let first: UnsafeMutablePointer<Int32>
    private var windowStart = 0
    private var inputRowCount = 0
    private var outputRowCount = 0

    /// - Parameter region: the part of the rows to resample; `nil`, the default, for all.
    init(
        from wholeSize: PixelSize, region: PixelRect? = nil, to outputSize: PixelSize
    ) throws(WebImageError) {
        self.wholeSize = wholeSize
        part = region ?? PixelRect(x: 0, y: 0, width: wholeSize.width, height: wholeSize.height)
        precondition(part.clamped(to: wholeSize) == part, "a part outside the image")
        let inputSize = part.size
        wholeRow =
            inputSize.width == wholeSize.width ? nil : try ScratchMemory(byteCount: wholeSize.width * 4)
        self.outputSize = outputSize
        output = try MutablePixelBuffer(width: outputSize.width, height: outputSize.height)
        rows = ResamplingWeights(from: inputSize.height, to: outputSize.height, maximumPrecision: 22)
        columns = ResamplingWeights(from: inputSize.width, to: outputSize.width, maximumPrecision: 16)
        windowRowLimit = Self.windowRowLimit(filterRowCount: rows.stride, inputRowCount: inputSize.height)
        window = .allocate(capacity: windowRowLimit * inputSize.width * 4)
        let lineLength = (inputSize.width + columns.stride) * 4
        line = .allocate(capacity: lineLength)
        line.initialize(repeating: 0, count: lineLength)
        first = .allocate(capacity: outputSize.height)
        first.initialize(repeating: 0, count: outputSize.height)
    }

    deinit {
        window.deallocate()
        line.deallocate()
        first.deallocate()
    }

    /// Twice the rows of a filter, so that a row is moved to the front at most once.
    private static func windowRowLimit(filterRowCount: Int, inputRowCount: Int) -> Int {
        min(2 * (filterRowCount + 1), inputRowCount)
    }

    /// The maximum memory, including the output.
    static func byteCount(from inputSize: PixelSize, to outputSize: PixelSize) -> Int {
        func filterLength(_ inputLength: Int, _ outputLength: Int) -> Int {
            let widening = max(1, Double(inputLength) / Double(outputLength))
            return min(Int(ResamplingKernel.lanczos3.radius * 2 * widening) + 5, inputLength + 3)
        }
        let rows = filterLength(inputSize.height, outputSize.height)
        let columns = filterLength(inputSize.width, outputSize.width)
        let window = windowRowLimit(filterRowCount: rows, inputRowCount: inputSize.height) * inputSize.width * 4
        // Weights are computed with 64 bits and stored with 16.
        let weights = (rows * outputSize.height + columns * outputSize.width) * 10
        return window + weights + (inputSize.width + columns) * 8 + outputSize.pixelByteCount
    }

    /// Takes the next row: premultiplied RGBA.
    func append(_ row: UnsafePointer<UInt8>) {
        append { $0.update(from: row, count: wholeSize.width * 4) }
    }

    /// Takes the next row from `write`, which has to write all of it. Not called for rows that do not count.
    func append(_ write: (UnsafeMutablePointer<UInt8>) -> Void) {
        precondition(arrivedRowCount < wholeSize.height, "more rows than announced")
        arrivedRowCount += 1
        guard arrivedRowCount > part.y, !isComplete else { return }
        if inputRowCount - windowStart == windowRowLimit { moveToFront() }
        let place = window + (inputRowCount - windowStart) * rowByteCount
        if let wholeRow {
            let row = wholeRow.address.assumingMemoryBound(to: UInt8.self)
            write(row)
            place.update(from: row + part.x * 4, count: rowByteCount)
        } else {
            write(place)
        }
        inputRowCount += 1
        while outputRowCount < outputSize.height, neededRowCount(for: outputRowCount) <= inputRowCount { makeRow() }
    }

    /// Whether all rows that count have arrived.
    var isComplete: Bool { inputRowCount == inputSize.height }

    /// Returns the output after the last row.
    func finish(isOpaque: Bool) -> PixelBuffer {
        precondition(outputRowCount == outputSize.height, "rows are missing")
        guard let output = output.take() else { preconditionFailure("finished twice") }
        return output.freeze(isOpaque: isOpaque)
    }

    private var rowByteCount: Int { inputSize.width * 4 }

    /// Padding weights refer to rows that do not count and may not exist at the bottom.
    private func neededRowCount(for outputRow: Int) -> Int {
        min(Int(rows.first[outputRow]) + rows.stride, inputSize.height)
    }

    /// Drops the rows that no further output row needs.
    private func moveToFront() {
        let needed = outputRowCount < outputSize.height ? Int(rows.first[outputRowCount]) : inputRowCount
        let kept = min(needed, inputRowCount)..<inputRowCount
        precondition(kept.lowerBound > windowStart, "a window too small for a filter")
        window.update(from: window + (kept.lowerBound - windowStart) * rowByteCount, count: kept.count * rowByteCount)
        windowStart = kept.lowerBound
    }

    private func makeRow() {
        let outputRow = outputRowCount
        first[outputRow] = rows.first[outputRow] - Int32(windowStart)
        let (stride, rowLimit) = (rowByteCount, inputRowCount - windowStart)
        output?.withUnsafeMutableBytes { bytes in
            guard let destination = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
            rows.withFilter { filter in
                var filter = filter
                filter.first = UnsafePointer(first)
                cwi_resample_vertically(window, stride, rowLimit, inputSize.width, filter, outputRow, line)
            }
            columns.withFilter { filter in
                cwi_resample_horizontally(
                    line, filter, destination + outputRow * outputSize.width * 4, outputSize.width)
            }
        }
        outputRowCount += 1
    }
}

/// An image that a library writes from the top to one address, resampled as its rows arrive. Resampled rows are
/// returned to the system.
///
///     │ given back │ written, not yet resampled │ never touched        │
///     └────────────┴────────────────────────────┴──────────────────────┘
///      rows ──────▶ resampler
///
/// Only the rows between two calls are in memory. The pixels are those of resampling the whole image.
final class StreamedRows {
    private let size: PixelSize
    private let resampler: RowResampler
    private let mapping: UnsafeMutableRawPointer
    private let mappingByteCount: Int
    /// The address of the top row, valid as long as this object lives.
    let baseAddress: UnsafeMutableRawPointer
    private var rowCount = 0
    private var releasedByteCount = 0
    private var isOpaque = true

    init(of size: PixelSize, resampledTo targetSize: PixelSize) throws(WebImageError) {
        self.size = size
        resampler = try RowResampler(from: size, to: targetSize)
        mappingByteCount = size.pixelCount * 4 + Self.hugePageByteCount
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        guard let mapping = mmap(nil, mappingByteCount, PROT_READ | PROT_WRITE, flags, -1, 0), mapping != MAP_FAILED
        else { throw .outOfResources(reason: .memory(byteCount: size.pixelCount * 4)) }
        self.mapping = mapping
        baseAddress = mapping.alignedUp(toMultipleOf: Self.hugePageByteCount)
        // All of it is untouched; with huge pages that costs almost nothing.
        madvise(baseAddress, size.pixelCount * 4, MADV_HUGEPAGE)
    }

    deinit { munmap(mapping, mappingByteCount) }

    var bytesPerRow: Int { size.width * 4 }

    /// Resamples the new rows among the first `count`: straight RGBA from the library, premultiplied here.
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

    /// Returns the output; rows that never arrived are transparent. Call it once.
    func finish() -> PixelBuffer {
        let missingRowCount = size.height - rowCount
        for _ in 0..<missingRowCount { resampler.append { $0.update(repeating: 0, count: bytesPerRow) } }
        return resampler.finish(isOpaque: isOpaque && missingRowCount == 0)
    }

    /// The memory of the rows, if a call passes a few at a time.
    static let windowByteCount = 4 * hugePageByteCount

    private static let hugePageByteCount = 2 << 20
}
