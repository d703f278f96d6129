public import FoundationEssentials
public import WebImageCore

/// Reads JPEG with libjpeg-turbo: baseline and progressive, Huffman and arithmetic coding, grey, YCbCr, RGB, CMYK and
/// YCCK, any subsampling; 8 bits a sample. CMYK without a profile is converted by the plain rule that each ink takes its
/// light away.
///
/// A damaged file is decoded to its first damage: where libjpeg would go on with grey or repeated blocks, rows stay
/// clear. Of a progressive file, detail is missing instead, unless its first scan is damaged already. A file that lacks
/// nothing but its last marker is whole, unless it uses arithmetic coding, which does not tell.
public struct JPEGDecoder: ImageDecoder {
    /// Makes a decoder.
    public init() {}

    /// ``ImageFormat/jpeg``.
    public var format: ImageFormat { .jpeg }

    /// Reads the markers before the first scan.
    public func info(of data: Data) throws(WebImageError) -> ImageInfo {
        let header = try JPEGHeader(reading: data.bytes)
        return ImageInfo(
            format: .jpeg, size: header.orientation.upright(header.size), orientation: header.orientation,
            hasColorProfile: header.hasColorProfile,
            colorProfileName: header.colorProfile(in: data.bytes)?.name)
    }

    /// Decodes the picture, for a thumbnail at an eighth, a quarter or half of its size where that is enough, and
    /// resamples what comes out to the exact size.
    public func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        try options.withTimeLimit { (options) throws(WebImageError) in try picture(of: data, options: options) }
    }

    private func picture(of data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        let header = try JPEGHeader(reading: data.bytes)
        let plan = try DecodingPlan(header, of: data.bytes, options: options)
        let reader = try JPEGReader()
        return try data.bytes.withUnsafeBytes { (bytes) throws(WebImageError) in
            let headerByteCount = try reader.reading(bytes, isEnd: true) { () throws(WebImageError) in
                guard try reader.readHeader() else { throw .decoding(format: .jpeg, reason: .truncated) }
            }
            let memory = try plan.memoryPlan(for: reader)
            return try options.withMemory(memory.byteCount) { (_) throws(WebImageError) in
                let scans = UnsafeRawBufferPointer(rebasing: bytes[headerByteCount...])
                _ = try reader.reading(scans, isEnd: true) { () throws(WebImageError) in
                    try plan.start(reader, memory)
                    try reader.decode(options: options)
                }
                return try plan.image(of: reader)
            }
        }
    }

    /// A decoder for baseline rows as they arrive, and for the scans of a progressive file that are whole.
    ///
    /// At most four progressive files are shown while they arrive; the others wait for one of these to finish, or for
    /// their last byte. Arithmetic coding can't be shown before it is whole.
    public func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)? {
        options.withTimeLimit(incremental: { JPEGIncrementalDecoder(options: $0, slots: .shared) })
    }
}

extension DecodingPlan {
    /// For the picture that the markers of `data` describe.
    init(_ header: JPEGHeader, of data: RawSpan, options: DecodingOptions) throws(WebImageError) {
        try options.limits.check(metadataByteCount: header.byteCount)
        try self.init(
            storedSize: header.size, orientation: header.orientation, colors: header.colorConversion(in: data),
            options: options)
    }

    /// Starts to decode the pixels that this plan needs.
    func start(_ reader: JPEGReader, _ memory: JPEGMemoryPlan) throws(WebImageError) {
        guard reader.size == storedSize else {
            throw .decoding(format: .jpeg, reason: .corrupt("two sizes: \(storedSize) and \(reader.size)"))
        }
        try reader.start(
            atLeast: targetSize, ink: colors, spool: memory.isSpooled ? makeSpool(for: reader) : nil,
            passesRows: memory.passesRows)
    }

    /// The picture that `reader` has decoded.
    func image(of reader: JPEGReader) throws(WebImageError) -> Image {
        let (pixels, isPartial) = try reader.finish(options: options)
        var image = try image(of: pixels, format: .jpeg)
        image.isPartial = isPartial
        return image
    }
}

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

extension JPEGDecoder {
    /// Hops over the markers up to the first scan: one with the orientation may stand behind the size.
    public func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe? {
        let prefix = prefix.prefix(ImageProbe.byteLimit)
        do throws(WebImageError) {
            let header = try JPEGHeader(reading: prefix.bytes)
            return header.reachesScan || prefix.count == ImageProbe.byteLimit ? ImageProbe(header) : nil
        } catch .decoding(_, .truncated) {
            return nil
        }
    }
}

extension ImageProbe {
    /// What the markers before the first scan tell.
    init(_ header: JPEGHeader) {
        self.init(format: .jpeg, size: header.orientation.upright(header.size), orientation: header.orientation)
    }
}
