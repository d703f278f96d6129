internal import CWebImageFormats
internal import CWebImageKernels
internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

/// A file that a library has opened. Used by one thread at a time.
final class LibraryFile {
    let format: LibraryFormat
    let info: cwi_file_info
    /// The images that can be chosen.
    let pageCount: Int
    private let handle: OpaquePointer
    private let limits: DecodingLimits
    /// The headers of a JPEG 2000.
    private let jpeg2000: JPEG2000File?
    /// See ``DecodingOptions/keepsColors``.
    private let keepsColors: Bool
    /// The file that was made for the library.
    private let media: LibraryMedia?

    /// - Parameter bytes: must exist as long as this object does.
    init(
        _ format: LibraryFormat, bytes: UnsafeRawBufferPointer, limits: DecodingLimits, page: Int? = nil,
        wantedSize: PixelSize? = nil, threadCount: Int = 1, isPrefix: Bool = false, readsMetadata: Bool = false,
        keepsColors: Bool = false
    ) throws(WebImageError) {
        let media =
            format.hasMediaBoxes
            ? try LibraryMedia(
                bytes, format, limits: limits, page: page, hasThumbnails: wantedSize != nil, hasMetadata: readsMetadata)
            : nil
        var choice = cwi_choice()
        choice.page = Int32(clamping: page ?? -1)
        choice.thread_count = Int32(threadCount)
        choice.wanted_width = UInt32(wantedSize?.width ?? 0)
        choice.wanted_height = UInt32(wantedSize?.height ?? 0)
        choice.is_prefix = isPrefix
        choice.reads_metadata = readsMetadata
        if let media { media.describe(&choice) }
        let bounds = cwi_limits(limits)
        var handle: OpaquePointer?
        func open(_ bytes: UnsafeRawBufferPointer) -> cwi_result {
            cwi_file_open(
                format.library, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, bounds, choice, &handle)
        }
        let jpeg2000 = format == .jpeg2000 ? try JPEG2000File(bytes.bytes, isPrefix: isPrefix) : nil
        let result: cwi_result
        if let jpeg2000 {
            result = jpeg2000.withPicture(of: bytes.bytes) { picture in
                choice.jp2 = picture
                return open(bytes)
            }
        } else {
            result = open(media.map { UnsafeRawBufferPointer($0.bytes) } ?? bytes)
        }
        try result.check(format.format, limits: limits, page: page)
        guard let handle else { throw format.format.corrupt("") }
        self.format = format
        self.handle = handle
        self.limits = limits
        self.jpeg2000 = jpeg2000
        self.media = media
        self.keepsColors = keepsColors
        info = cwi_file_get_info(handle).pointee
        pageCount = media?.pageCount ?? Int(info.page_count)
    }

    deinit { cwi_file_close(handle) }

    /// Of the decoded pixels.
    var decodedSize: PixelSize { PixelSize(width: Int(info.width), height: Int(info.height)) }
    /// Of the part that is shown, before orientation.
    var size: PixelSize { PixelSize(width: Int(info.crop_width), height: Int(info.crop_height)) }
    var orientation: ImageOrientation { ImageOrientation(rawValue: Int(info.orientation)) ?? .up }
    var isDeep: Bool { info.bytes_per_channel == 2 }
    var frameCount: Int { Int(info.frame_count) }

    /// The decoded pixels after their sides are halved `reduction` times.
    func decodedSize(reduction: Int) -> PixelSize {
        func length(_ origin: UInt32, _ length: UInt32) -> Int {
            let unit = 1 << reduction
            let (start, end) = (Int(origin), Int(origin) + Int(length))
            return (end + unit - 1) / unit - (start + unit - 1) / unit
        }
        return PixelSize(width: length(info.origin_x, info.width), height: length(info.origin_y, info.height))
    }

    /// The memory of decoding besides the result that follows from the size, in bytes: pixels of 16 bits, and the planes of a JPEG 2000.
    ///
    /// - Parameter stripHeight: of ``stripHeight(reduction:besides:)``.
    func workingByteCount(reduction: Int = 0, stripHeight: Int? = nil) -> Int {
        let size = decodedSize(reduction: reduction)
        let share = stripHeight.map { min(1, Double($0) / Double(size.height)) }
        let planes = jpeg2000?.codestream.planeByteCount(reduction: reduction, share: share) ?? 0
        return planes + (isDeep ? size.pixelCount * 8 : 0)
    }

    /// The same for a part of a TIFF: a strip or tile as libtiff has it, and the pixels of a row of them, of strips as far as the part needs
    /// them.
    func workingByteCount(ofPart part: PixelRect) -> Int {
        if isDeep { return info.block_length + part.size.pixelCount * 8 }
        let (width, height) = (Int(info.block_width), Int(info.block_height))
        let rowByteCount =
            width >= size.width
            ? size.width * min(height, part.height + 3) : min(size.width, part.width + 2 * width) * height
        return info.block_length + rowByteCount * 4
    }

    /// The rows of a large JPEG 2000 that are decoded at a time, so that OpenJPEG does not hold all of them: a megabyte
    /// can claim 100 megapixels. Strips take more time. `nil` for all rows.
    ///
    /// - Parameter byteCount: the memory that is needed besides.
    func stripHeight(reduction: Int, besides byteCount: Int) -> Int? {
        guard let codestream = jpeg2000?.codestream, codestream.canBeCut(decodedSize) else { return nil }
        // OpenJPEG also has the compressed data and code blocks.
        let limit = limits.memoryByteCount / 4 * 3 - byteCount
        let heights = Codestream.stripHeights.filter { $0 < decodedSize(reduction: reduction).height }
        return ([nil] + heights.map(Optional.init)).first { height in
            workingByteCount(reduction: reduction, stripHeight: height) <= limit
        } ?? heights.last
    }

    private(set) lazy var profile: ColorProfile? = {
        guard let bytes = info.profile, info.profile_length > 0 else { return nil }
        return ColorProfile(Array(UnsafeBufferPointer(start: bytes, count: info.profile_length)))
    }()

    /// Read if the file was opened with `readsMetadata`.
    var metadata: ImageMetadata {
        func data(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Data? { bytes.map { Data(bytes: $0, count: count) } }
        return ImageMetadata(
            storedEXIF: data(info.exif, info.exif_length), xmp: data(info.xmp, info.xmp_length))
    }

    /// The encoding that colors are converted from.
    private var colors: ColorEncoding {
        if let profile { return keepsColors && profile.model == .rgb ? .sRGB : .profile(profile) }
        return Self.colors(primaries: info.primaries, transfer: info.transfer)
    }

    /// The encoding of code points; sRGB for those that tell nothing. The curves of video cameras (BT.709, BT.601,
    /// BT.2020) count as sRGB's, as in browsers: displays do not undo them.
    static func colors(primaries: Int32, transfer: Int32) -> ColorEncoding {
        let primaries = [0, 2].contains(primaries) ? 1 : primaries
        let transfer = [0, 1, 2, 6, 14, 15].contains(transfer) ? 13 : transfer
        let points = ColorCodePoints(primaries: UInt8(clamping: primaries), transfer: UInt8(clamping: transfer))
        return points.encoding ?? .sRGB
    }

    var isHDR: Bool { profile == nil && (info.transfer == 16 || info.transfer == 18) }

    private var colorModel: ColorModel {
        info.is_ink ? .cmyk : info.is_gray && profile?.model == .gray ? .gray : .rgb
    }

    /// The conversion of pixels of 16 bits; `nil` for 8.
    private(set) lazy var deepConversion =
        isDeep ? DeepColorConversion(from: colors, model: colorModel) : nil

    /// The conversion that remains after ``pixels(ofFrame:reduction:allowsDamage:cancellation:)``.
    var remainingConversion: ColorConversion {
        isDeep ? .none : ColorConversion(from: colors, model: colorModel)
    }

    /// In seconds, as the file tells.
    func seconds(ofFrame index: Int) -> Double { cwi_file_duration(handle, Int32(index)) }

    func isKeyframe(_ index: Int) -> Bool { cwi_file_is_keyframe(handle, Int32(index)) }

    /// Decodes a frame, premultiplied and cropped, not turned.
    ///
    /// - Parameters:
    ///   - reduction: decodes 1/2ⁿ of the sides; less than `info.resolution_count`.
    ///   - stripHeight: of ``stripHeight(reduction:besides:)``.
    func pixels(
        ofFrame index: Int = 0, reduction: Int = 0, stripHeight: Int? = nil, allowsDamage: Bool,
        cancellation: Cancellation?
    ) throws(WebImageError) -> (pixels: PixelBuffer, isPartial: Bool) {
        cwi_file_set_strip_height(handle, UInt32(stripHeight ?? 0))
        return try pixels(size: decodedSize(reduction: reduction), cancellation: cancellation) {
            (memory, stride, isPartial) in
            cwi_file_decode(
                handle, Int32(index), Int32(reduction), memory, stride, allowsDamage ? isPartial : nil)
        }
    }

    /// Decodes a part of a TIFF, premultiplied, not turned.
    ///
    /// - Parameter part: a part of the image, as it is stored.
    func pixels(
        ofPart part: PixelRect, allowsDamage: Bool, cancellation: Cancellation?
    ) throws(WebImageError) -> (pixels: PixelBuffer, isPartial: Bool) {
        // Dithering has a pattern of 8 × 8 pixels, which begins at the corner of the image.
        let (left, top) = isDeep ? (part.x % 8, part.y % 8) : (0, 0)
        let read = PixelRect(
            x: part.x - left, y: part.y - top, width: part.width + left, height: part.height + top)
        let stored = cwi_part(
            x: UInt32(read.x), y: UInt32(read.y), width: UInt32(read.width), height: UInt32(read.height))
        guard cwi_file_set_part(handle, stored) else { throw format.format.unsupported("a region outside the image") }
        let (pixels, isPartial) = try pixels(size: read.size, cancellation: cancellation) {
            (memory, stride, isPartial) in
            cwi_file_decode(handle, 0, 0, memory, stride, allowsDamage ? isPartial : nil)
        }
        let inner = PixelRect(x: left, y: top, width: part.width, height: part.height)
        return (read == part ? pixels : try pixels.cropped(to: inner) ?? pixels, isPartial)
    }

    /// Decodes what the first bytes show; `nil` if that is nothing yet.
    func preview(cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer? {
        do throws(WebImageError) {
            return try pixels(allowsDamage: true, cancellation: cancellation).pixels
        } catch .decoding {
            return nil
        }
    }

    /// Draws a vector image at a size.
    func drawn(at size: PixelSize) throws(WebImageError) -> PixelBuffer {
        let output = try MutablePixelBuffer(width: size.width, height: size.height)
        let result = cwi_file_draw(
            handle, UInt32(size.width), UInt32(size.height), output.baseAddress, output.bytesPerRow)
        try result.check(format.format, limits: limits)
        let start = output.baseAddress.assumingMemoryBound(to: UInt8.self)
        cwi_swap_red_and_blue(start, start, size.pixelCount)
        let isOpaque = output.isOpaque()
        return output.freeze(isOpaque: isOpaque)
    }

    private func pixels(
        size: PixelSize, cancellation: Cancellation?,
        _ decode: (UnsafeMutableRawPointer, Int, UnsafeMutablePointer<Bool>) -> cwi_result
    ) throws(WebImageError) -> (pixels: PixelBuffer, isPartial: Bool) {
        try cancellation?.check()
        var isPartial = false
        let whole: PixelBuffer
        if let deepConversion {
            let stride = size.width * 8
            let memory = try ScratchMemory(byteCount: stride * size.height)
            try decode(memory.address, stride, &isPartial).check(format.format, limits: limits)
            whole = try deepConversion.pixels(
                from: memory.address, bytesPerRow: stride, size: size, cancellation: cancellation)
        } else {
            var output = try MutablePixelBuffer(width: size.width, height: size.height)
            try decode(output.baseAddress, output.bytesPerRow, &isPartial).check(format.format, limits: limits)
            if info.is_ink { output.convertInk(with: remainingConversion) }
            var isOpaque = !info.has_alpha && !isPartial
            if info.has_alpha {
                isOpaque = info.is_premultiplied ? output.isOpaque() : output.premultiply()
            }
            whole = output.freeze(isOpaque: isOpaque)
        }
        try cancellation?.check()
        return (try cropped(whole), isPartial)
    }

    private func cropped(_ pixels: PixelBuffer) throws(WebImageError) -> PixelBuffer {
        guard size != decodedSize, pixels.size == decodedSize else { return pixels }
        let rect = PixelRect(x: Int(info.crop_x), y: Int(info.crop_y), width: size.width, height: size.height)
        return try pixels.cropped(to: rect) ?? pixels
    }
}

extension cwi_limits {
    fileprivate init(_ limits: DecodingLimits) {
        self.init(
            pixel_count: UInt32(clamping: limits.pixelCount), side: UInt32(PixelSize.maximumDimension),
            frame_count: UInt32(clamping: limits.frameCount), metadata_length: limits.metadataByteCount,
            memory_length: limits.memoryByteCount)
    }
}

extension MutablePixelBuffer {
    /// Premultiplies straight pixels; returns whether all are opaque.
    fileprivate mutating func premultiply() -> Bool {
        let (width, stride, start) = (width, bytesPerRow, baseAddress.assumingMemoryBound(to: UInt8.self))
        var isOpaque = true
        for row in 0..<height { isOpaque = cwi_premultiply(start + row * stride, width) && isOpaque }
        return isOpaque
    }

    /// Converts 255 minus each ink to opaque sRGB.
    fileprivate mutating func convertInk(with conversion: ColorConversion) {
        let (width, stride, start) = (width, bytesPerRow, baseAddress.assumingMemoryBound(to: UInt8.self))
        for row in 0..<height { conversion.convertInk(start + row * stride, pixelCount: width) }
    }

    fileprivate func isOpaque() -> Bool {
        let (width, stride, start) = (width, bytesPerRow, baseAddress.assumingMemoryBound(to: UInt8.self))
        return (0..<height).allSatisfy { cwi_is_opaque(start + $0 * stride, width) }
    }
}
