import FoundationEssentials
import WebImageCore

/// Decodes JPEG with libjpeg-turbo: baseline and progressive, Huffman and arithmetic coding, gray, YCbCr, RGB, CMYK and
/// YCCK, any subsampling, 8 bits a sample; lossless ones with ``LosslessJPEG``. CMYK without a profile is converted by the simple rule that each ink absorbs
/// its light.
///
/// A damaged file is decoded up to the first damage: rows that libjpeg would fill with gray or repeated blocks stay
/// transparent. Of a progressive file, detail is missing instead, unless its first scan is damaged. A missing end
/// marker is tolerated, except with arithmetic coding, where it cannot be told from truncation.
///
/// At an eighth of the size, the scans of a progressive file on which no pixel depends are skipped: such an image is complete without them.
struct JPEGDecoder: OwnDecoder, RegionDecoder {
    init() {}

    package var format: ImageFormat { .jpeg }

    package func info(of data: Data) throws(WebImageError) -> ImageInfo {
        let header = try JPEGHeader(reading: data.bytes)
        var info = ImageInfo(
            format: .jpeg, size: header.orientation.upright(header.size), orientation: header.orientation,
            hasColorProfile: header.hasColorProfile,
            colorProfileName: header.colorProfile(in: data.bytes)?.name)
        info.hasGainMap = header.hasGainMap || Self.hasAppleGainMap(header, in: data)
        info.bitDepth = header.precision
        return info
    }

    /// Reads the markers up to the first scan: the orientation may follow the size.
    package func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe? {
        let prefix = prefix.prefix(ImageProbe.byteLimit)
        do throws(WebImageError) {
            let header = try JPEGHeader(reading: prefix.bytes)
            return header.reachesScan || prefix.count == ImageProbe.byteLimit ? ImageProbe(header) : nil
        } catch .decoding(_, .truncated, _) {
            return nil
        }
    }

    /// Decodes at an eighth, a quarter or half of the size if that is enough, then resamples to the exact size.
    package func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        try options.withTimeLimit { (options) throws(WebImageError) in
            let header = try JPEGHeader(reading: data.bytes)
            if header.isLossless, options.region != nil { return try decodeWholeAndCrop(data, options: options) }
            if header.isLossless { return try LosslessJPEG(header, of: data.bytes, options: options).image(data.bytes) }
            let plan = try DecodingPlan(header, of: data.bytes, options: options)
            let reader = try JPEGReader()
            return try data.bytes.withUnsafeBytes { (bytes) throws(WebImageError) in
                let headerByteCount = try reader.reading(bytes, isEnd: true) { () throws(WebImageError) in
                    guard try reader.readHeader() else { throw .decoding(format: .jpeg, reason: .truncated) }
                }
                let route = try plan.route(for: reader)
                return try options.withMemory(route.byteCount) { (_) throws(WebImageError) in
                    let scans = UnsafeRawBufferPointer(rebasing: bytes[headerByteCount...])
                    _ = try reader.reading(scans, isEnd: true) { () throws(WebImageError) in
                        try plan.start(reader, route)
                        try reader.decode(options: options)
                    }
                    return try plan.image(of: reader)
                }
            }
        }
    }

    package func animation(of data: Data, options: DecodingOptions) throws(WebImageError) -> (any AnimationSource)? {
        nil
    }

    /// Shows the rows of a baseline file, and the complete scans of a progressive one. Arithmetic coding and lossless
    /// files have no previews.
    package func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)? {
        options.withTimeLimit(incremental: { JPEGIncrementalDecoder(options: $0) })
    }
}

extension ImageProbe {
    init(_ header: JPEGHeader) {
        self.init(format: .jpeg, size: header.orientation.upright(header.size), orientation: header.orientation)
    }
}

extension DecodingPlan {
    init(_ header: JPEGHeader, of data: RawSpan, options: DecodingOptions) throws(WebImageError) {
        try options.limits.check(metadataByteCount: header.byteCount)
        try options.checkRegion(in: header.orientation.upright(header.size), of: .jpeg)
        try self.init(
            storedSize: header.size, orientation: header.orientation,
            colors: ColorConversion(from: options.source(header.colorEncoding(in: data)), model: header.colorModel),
            options: options)
    }

    func start(_ reader: JPEGReader, _ route: DecodingRoute) throws(WebImageError) {
        guard reader.size == storedSize else {
            throw .decoding(format: .jpeg, reason: .corrupt("two sizes: \(storedSize) and \(reader.size)"))
        }
        reader.finishesRows =
            reader.outputSize(atLeast: targetSize, of: region) == targetSize && !colors.copiesPixels
            && orientation == .up
        var spool = route.spool
        if route.isSpooled, spool == nil { spool = try makeSpool(for: reader) }
        try reader.start(
            atLeast: targetSize, ink: colors, spool: spool,
            resamplesRows: route.resamplesRows, region: region)
    }

    /// Returns the image that `reader` has decoded.
    func image(of reader: JPEGReader) throws(WebImageError) -> Image {
        let (pixels, isPartial) = try reader.finish(options: options)
        var image = try image(of: pixels, format: .jpeg)
        image.isPartial = isPartial
        return image
    }

    /// Returns the fastest way to decode within the memory limit and, if possible, 512 MiB. Rows are resampled one by one before coefficients go
    /// to a file, which costs more.
    func route(for reader: JPEGReader) throws(WebImageError) -> DecodingRoute {
        let isResampled = region == nil && reader.outputSize(atLeast: targetSize) != targetSize
        let routes = (reader.hasMultipleScans ? [false, true] : [false]).flatMap { isSpooled in
            (isResampled ? [false, true] : [false]).map { resamplesRows in
                var route = DecodingRoute(isSpooled: isSpooled, resamplesRows: resamplesRows)
                route.byteCount = byteCount(of: reader, route)
                return route
            }
        }
        let allowed = try DecodingRoute.first(of: routes, within: options.limits)
        guard allowed.byteCount > Self.memoryForSpeed,
            var smaller = routes.first(where: { $0.byteCount <= Self.memoryForSpeed })
        else { return allowed }
        if smaller.isSpooled {
            smaller.spool = try? makeSpool(for: reader)
            if smaller.spool == nil { return allowed }
        }
        return smaller
    }

    /// The maximum memory of decoding: libjpeg's and the rows, then, once libjpeg's is released, the further steps.
    private func byteCount(of reader: JPEGReader, _ route: DecodingRoute) -> Int {
        let outputSize = reader.outputSize(atLeast: targetSize, of: region)
        let working = reader.workingByteCount(isSpooled: route.isSpooled)
        if route.resamplesRows {
            return working + StreamedRows.windowByteCount + byteCount(resamplingRowsOf: outputSize)
        }
        return max(working + outputSize.pixelByteCount, byteCount(from: outputSize))
    }

    /// Creates a file for coefficients, on a disk.
    ///
    /// - Throws: ``WebImageError/ResourceFailure/temporaryFile(directory:errno:)`` for the last unusable directory;
    ///   ``WebImageError/LimitFailure/memory(byteCount:limit:)`` if all temporary directories are in memory.
    private func makeSpool(for reader: JPEGReader) throws(WebImageError) -> UnnamedFile {
        let file =
            if let source = UnnamedFile.source.withLock({ $0 }) {
                try source(reader.coefficientByteCount)
            } else {
                try UnnamedFile.onDisk(in: options.spoolDirectories)
            }
        if let file { return file }
        throw .limitExceeded(
            reason: .memory(byteCount: byteCount(of: reader, DecodingRoute()), limit: options.limits.memoryByteCount))
    }

    /// The maximum memory of decoding with previews, including the last one, which the caller still holds.
    func byteCountWithPreviews(of reader: JPEGReader) -> Int {
        let outputSize = reader.outputSize(atLeast: targetSize)
        // A preview of rows is a copy of the output; scans are kept as coefficients.
        let rows = reader.hasMultipleScans ? 0 : outputSize.pixelByteCount
        return reader.workingByteCount(isSpooled: false) + rows + byteCount(from: outputSize)
            + targetSize.pixelByteCount
    }
}
