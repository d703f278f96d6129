internal import CWebImageKernels
internal import FoundationEssentials
public import WebImageCore

/// A file of still images that are decoded as a whole, after its header was read.
protocol StillFile {
    /// The size as stored.
    var size: PixelSize { get }
    /// Up by default.
    var orientation: ImageOrientation { get }
    var hasAlpha: Bool { get }
    /// The number of images in the file; 1 by default.
    var pageCount: Int { get }
    /// sRGB by default.
    var colors: ColorEncoding { get }
    /// RGB by default.
    var colorModel: ColorModel { get }
    /// The memory for decoding besides the pixels, in bytes; 0 by default.
    var workingByteCount: Int { get }

    /// Decodes the pixels as stored, premultiplied. With `allowsDamage`, the rows before damage are the result.
    ///
    /// - Returns: the pixels; and what was wrong with them, if anything.
    func pixels(
        allowsDamage: Bool, cancellation: Cancellation?
    ) throws(WebImageError) -> (pixels: PixelBuffer, damage: WebImageError?)

    /// Whether rows can be decoded one by one from the top; `false` by default.
    var hasSeparateRows: Bool { get }

    /// Resamples each row as it is decoded, so that the whole image is never in memory.
    ///
    /// - Returns: `nil` if rows are missing or damaged.
    func pixels(
        resampledTo targetSize: PixelSize, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer?
}

extension StillFile {
    var hasSeparateRows: Bool { false }
    func pixels(
        resampledTo targetSize: PixelSize, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer? { nil }
    var orientation: ImageOrientation { .up }
    var pageCount: Int { 1 }
    var colors: ColorEncoding { .sRGB }
    var colorModel: ColorModel { .rgb }
    var workingByteCount: Int { 0 }
}

/// A decoder of such files: it reads a header, and the rest follows.
///
///     bytes ──▶ file (header) ──▶ info, probe
///                    └──▶ pixels ──▶ DecodingPlan: size, colors, orientation
protocol StillDecoder: OwnDecoder {
    associatedtype File: StillFile

    /// Reads the header.
    ///
    /// - Parameter page: the index of an image in the file; `nil` for the first or best.
    /// - Throws: ``WebImageError/decoding(format:reason:url:)``, with `truncated` if more bytes may help.
    func file(_ data: Data, page: Int?) throws(WebImageError) -> File
}

extension StillDecoder {
    func info(of data: Data) throws(WebImageError) -> ImageInfo {
        let file = try file(data, page: nil)
        let profile = if case .profile(let profile) = file.colors { profile } else { ColorProfile?.none }
        var info = ImageInfo(
            format: format, size: file.orientation.upright(file.size), hasAlpha: file.hasAlpha,
            orientation: file.orientation, hasColorProfile: profile != nil, colorProfileName: profile?.name)
        info.pageCount = file.pageCount
        return info
    }

    func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe? {
        do throws(WebImageError) {
            let file = try file(prefix.prefix(ImageProbe.byteLimit), page: nil)
            return ImageProbe(
                format: format, size: file.orientation.upright(file.size), orientation: file.orientation,
                hasAlpha: file.hasAlpha)
        } catch .decoding(_, .truncated, _) {
            return nil
        }
    }

    func animation(of data: Data, options: DecodingOptions) throws(WebImageError) -> (any AnimationSource)? {
        nil
    }

    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        try file(data, page: options.page).image(format, options: options)
    }
}

extension StillFile {
    /// Decodes the image according to `options`.
    func image(_ format: ImageFormat, options: DecodingOptions) throws(WebImageError) -> Image {
        try options.withTimeLimit { (options) throws(WebImageError) in
            let plan = try DecodingPlan(
                storedSize: size, orientation: orientation, colors: ColorConversion(from: colors, model: colorModel),
                options: options)
            let byteCount = plan.byteCount(from: size) + workingByteCount
            if byteCount > min(options.limits.memoryByteCount, DecodingPlan.memoryForSpeed),
                let image = try resampledImage(plan, format, within: byteCount)
            {
                return image
            }
            return try options.withMemory(byteCount) { (_) throws(WebImageError) in
                let (pixels, damage) = try pixels(
                    allowsDamage: options.allowsDamage, cancellation: options.cancellation)
                if let damage, !options.allowsDamage { throw damage }
                var image = try plan.image(of: pixels, format: format)
                image.isPartial = damage != nil
                return image
            }
        }
    }
}

extension StillFile {
    /// Returns the image made row by row; `nil` where that is not possible, or takes no less memory than `limit`.
    private func resampledImage(
        _ plan: DecodingPlan, _ format: ImageFormat, within limit: Int
    ) throws(WebImageError) -> Image? {
        let byteCount = StreamedRows.windowByteCount + plan.byteCount(resamplingRowsOf: size)
        guard hasSeparateRows, plan.targetSize.pixelCount < size.pixelCount, byteCount < limit else { return nil }
        return try plan.options.withMemory(byteCount) { (_) throws(WebImageError) -> Image? in
            let pixels = try pixels(resampledTo: plan.targetSize, cancellation: plan.options.cancellation)
            guard let pixels else { return nil }
            return try plan.image(of: pixels, format: format)
        }
    }
}

extension ImageFormat {
    /// The error of a damaged file in this format.
    ///
    /// - Parameter message: what is wrong, for developers.
    public func corrupt(_ message: String) -> WebImageError { .decoding(format: self, reason: .corrupt(message)) }
    /// The error of a file in this format that needs something the decoder does not have.
    ///
    /// - Parameter feature: what it needs, for developers.
    public func unsupported(_ feature: String) -> WebImageError {
        .decoding(format: self, reason: .unsupported(feature))
    }
    /// The error of a file in this format that ends too early.
    public var truncated: WebImageError { .decoding(format: self, reason: .truncated) }

    /// Returns the index of a page, or throws if there is none.
    public func page(_ page: Int?, of count: Int) throws(WebImageError) -> Int {
        guard let page else { return 0 }
        guard (0..<count).contains(page) else { throw .decoding(format: self, reason: .page(page, count: count)) }
        return page
    }
}

extension StreamedRows {
    /// Fills all rows from the top with straight RGBA, and resamples them.
    ///
    /// - Parameter write: receives the row's number and its memory, and returns whether there is such a row.
    /// - Returns: `nil` if a row is missing.
    static func pixels(
        of size: PixelSize, resampledTo targetSize: PixelSize, cancellation: Cancellation?,
        _ write: (_ row: Int, _ pixels: UnsafeMutablePointer<UInt8>) throws(WebImageError) -> Bool
    ) throws(WebImageError) -> PixelBuffer? {
        let rows = try StreamedRows(of: size, resampledTo: targetSize)
        let start = rows.baseAddress.assumingMemoryBound(to: UInt8.self)
        let batch = max(1, (1 << 18) / size.width)
        for row in 0..<size.height {
            if row % batch == 0 { try cancellation?.check() }
            guard try write(row, start + row * rows.bytesPerRow) else { return nil }
            if row % batch == batch - 1 || row == size.height - 1 { rows.resample(upTo: row + 1) }
        }
        return rows.finish()
    }
}

extension MutablePixelBuffer {
    /// Fills the rows one after the other with straight RGBA, then premultiplies them. Stops where `write` returns
    /// `false`, and leaves the rest transparent.
    ///
    /// - Parameters:
    ///   - rows: in the order in which they are stored.
    ///   - write: receives the row's number and its memory.
    /// - Returns: the number of rows, and whether all their pixels are opaque.
    mutating func fillRows(
        _ rows: some Sequence<Int>, hasAlpha: Bool, cancellation: Cancellation?,
        _ write: (_ row: Int, _ pixels: UnsafeMutablePointer<UInt8>) throws(WebImageError) -> Bool
    ) throws(WebImageError) -> (count: Int, isOpaque: Bool) {
        let (width, stride, batch) = (width, bytesPerRow, max(1, (1 << 18) / max(1, width)))
        let start = baseAddress.assumingMemoryBound(to: UInt8.self)
        var (count, isOpaque) = (0, true)
        for row in rows {
            if count % batch == 0 { try cancellation?.check() }
            let pixels = start + row * stride
            guard try write(row, pixels) else { break }
            if hasAlpha, !cwi_premultiply(pixels, width) { isOpaque = false }
            count += 1
        }
        return (count, isOpaque)
    }
}
