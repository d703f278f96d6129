internal import WebImageCore

/// How a JPEG is decoded within the limit on memory.
struct JPEGMemoryPlan {
    /// Whether the coefficients of several scans go to a file.
    var isSpooled = false
    /// Whether the pixels go on to the target's size row by row.
    var passesRows = false
    /// The most that decoding takes so.
    var byteCount = 0
}

extension DecodingPlan {
    /// The quickest way to decode what `reader` has read the header of that fits into memory.
    ///
    /// The rows are resampled one by one before the coefficients go to a file: that costs less.
    ///
    /// - Throws: ``WebImageError/decodingMemoryExceeded(byteCount:limit:)``, with what the most economical way takes.
    func memoryPlan(for reader: JPEGReader) throws(WebImageError) -> JPEGMemoryPlan {
        let limit = options.limits.memoryByteCount
        let isResampled = reader.outputSize(atLeast: targetSize) != targetSize
        var least = Int.max
        for isSpooled in reader.hasMultipleScans ? [false, true] : [false] {
            for passesRows in isResampled ? [false, true] : [false] {
                var memory = JPEGMemoryPlan(isSpooled: isSpooled, passesRows: passesRows)
                memory.byteCount = byteCount(of: reader, memory)
                if memory.byteCount <= limit { return memory }
                least = min(least, memory.byteCount)
            }
        }
        throw .decodingMemoryExceeded(byteCount: least, limit: limit)
    }

    /// What decoding takes at the most: libjpeg's memory and the rows, then, when the former is given back, what becomes of
    /// them.
    private func byteCount(of reader: JPEGReader, _ memory: JPEGMemoryPlan) -> Int {
        let outputSize = reader.outputSize(atLeast: targetSize)
        let working = reader.workingByteCount(isSpooled: memory.isSpooled)
        if memory.passesRows {
            return working + PassingRows.windowByteCount + byteCount(resamplingRowsOf: outputSize)
        }
        return max(working + outputSize.pixelByteCount, byteCount(from: outputSize))
    }

    /// A file for coefficients, on a disk.
    ///
    /// - Throws: ``WebImageError/temporaryFile(directory:errno:)`` for the last directory that can't be used;
    ///   ``WebImageError/decodingMemoryExceeded(byteCount:limit:)`` where all temporary files are in memory too.
    func makeSpool(for reader: JPEGReader) throws(WebImageError) -> UnnamedFile {
        var failure: WebImageError?
        for directory in options.spoolDirectories ?? [UnnamedFile.defaultDirectory, "/var/tmp"] {
            do throws(WebImageError) {
                let file = try UnnamedFile(in: directory)
                if !file.isInMemory { return file }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        throw .decodingMemoryExceeded(
            byteCount: byteCount(of: reader, JPEGMemoryPlan()), limit: options.limits.memoryByteCount)
    }

    /// What decoding takes at the most with previews, of which the caller still has the last one.
    func byteCountWithPreviews(of reader: JPEGReader) -> Int {
        let outputSize = reader.outputSize(atLeast: targetSize)
        // Rows are kept in the output while a copy of them is shown; scans are kept as coefficients.
        let rows = reader.hasMultipleScans ? 0 : outputSize.pixelByteCount
        return reader.workingByteCount(isSpooled: false) + rows + byteCount(from: outputSize)
            + targetSize.pixelByteCount
    }
}
