internal import CWebImageFormats
internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

/// Decodes one format with its library.
///
///     bytes ──▶ LibraryFile (header) ──▶ info
///                    └──▶ pixels ─▶ DecodingPlan: size, colors, orientation
///
/// None can be interrupted in an image, and none keeps to a limit on memory, so they belong into a process that the system bounds. Checked
/// here is what the header tells: the size. libavif and libheif read files of ours (``MediaStill``).
struct LibraryDecoder: RegionDecoder, OwnDecoder, MetadataDecoder {
    let library: LibraryFormat

    init(_ library: LibraryFormat) { self.library = library }

    var format: ImageFormat { library.format }

    func info(of data: Data) throws(WebImageError) -> ImageInfo {
        try data.withBytes { (bytes) throws(WebImageError) in
            let file = try LibraryFile(library, bytes: bytes, limits: LibraryFormat.headerLimits)
            let media = library.hasMediaBoxes ? MediaFile(data.bytes, isPrefix: false) : nil
            // libheif turns images itself, so only the boxes tell how they are stored.
            let orientation = media?.orientation ?? file.orientation
            var info = ImageInfo(
                format: format, size: file.orientation.upright(file.size), frameCount: file.frameCount,
                hasAlpha: file.info.has_alpha, orientation: orientation, hasColorProfile: file.profile != nil,
                colorProfileName: file.profile?.name)
            info.pageCount = file.pageCount
            info.bitDepth = Int(file.info.depth)
            info.isHDR = file.isHDR
            info.hasGainMap = media?.hasGainMap ?? false
            if file.info.is_animated {
                info.loopCount = LibraryAnimation.loopCount(of: file, media)
                info.frames = LibraryAnimation.frames(of: file)
            }
            return info
        }
    }

    func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe? {
        if library.hasMediaBoxes {
            guard let media = MediaFile(prefix.bytes) else { return nil }
            return ImageProbe(
                format: format, size: media.orientation.upright(media.size), orientation: media.orientation,
                isAnimated: media.isSequence && media.frameCount > 1, hasAlpha: media.hasAlpha)
        }
        return try prefix.withBytes { (bytes) throws(WebImageError) in
            do throws(WebImageError) {
                let file = try LibraryFile(library, bytes: bytes, limits: .default, isPrefix: true)
                return ImageProbe(
                    format: format, size: file.orientation.upright(file.size), orientation: file.orientation,
                    isAnimated: file.info.is_animated, hasAlpha: file.info.has_alpha)
            } catch .decoding {
                return nil
            }
        }
    }

    func metadata(of data: Data) throws(WebImageError) -> ImageMetadata {
        if library == .tiff { return ImageMetadata(ofTIFF: data) }
        return try data.withBytes { (bytes) throws(WebImageError) in
            if library.hasMediaBoxes, !isSequence(bytes.bytes) {
                return try MediaStill.metadata(of: bytes, format: format, limits: LibraryFormat.headerLimits)
            }
            return try LibraryFile(library, bytes: bytes, limits: LibraryFormat.headerLimits, readsMetadata: true)
                .metadata
        }
    }

    /// Whether it may be a sequence, which has metadata with its track.
    private func isSequence(_ bytes: RawSpan) -> Bool {
        library == .avif && MediaSequence.movie(in: bytes, Box.list(in: bytes, 0..<bytes.byteCount)) != nil
    }

    func animation(of data: Data, options: DecodingOptions) throws(WebImageError) -> (any AnimationSource)? {
        try data.withBytes { (bytes) throws(WebImageError) in
            try LibraryAnimation(
                LibraryFile(library, bytes: bytes, limits: options.limits, keepsColors: options.keepsColors), data,
                options: options)
        }
    }

    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        // Other libraries decode whole images, or do not say how much memory a part takes.
        if options.region != nil, library != .tiff { return try decodeWholeAndCrop(data, options: options) }
        return try options.withTimeLimit { (options) throws(WebImageError) in
            try checkSize(of: data, options: options)
            return try data.withBytes { (bytes) throws(WebImageError) in
                let file = try LibraryFile(
                    library, bytes: bytes, limits: options.limits, page: options.page,
                    threadCount: options.idleProcessorCount, keepsColors: options.keepsColors)
                guard !options.firstFrameOnly, options.page == nil,
                    let animation = try LibraryAnimation(file, data, options: options)
                else { return try still(file, bytes, options: options) }
                let pixels = try animation.makeFrameReader().frame(at: 0, cancellation: options.cancellation)
                var image = Image(
                    pixels: pixels, scale: options.scale, format: format, frameCount: animation.frameCount,
                    isThumbnail: animation.isThumbnail)
                image.animation = animation
                return image
            }
        }
    }

    func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)? {
        library == .jpegXL ? LibraryIncrementalDecoder(self, options: options) : nil
    }

    /// The libraries' errors for large images do not tell the size.
    private func checkSize(of data: Data, options: DecodingOptions) throws(WebImageError) {
        if library.hasMediaBoxes, let media = MediaFile(data.bytes, isPrefix: false) {
            try options.limits.check(media.size)
        }
    }

    private func still(
        _ file: LibraryFile, _ bytes: UnsafeRawBufferPointer, options: DecodingOptions
    ) throws(WebImageError) -> Image {
        var file = file
        if library == .svg { return try drawing(of: file, options: options) }
        // Made from the file itself: an embedded thumbnail may have other colors.
        try options.checkRegion(in: file.orientation.upright(file.size), of: format)
        var plan = try file.plan(options)
        if library == .heic, plan.targetSize != plan.storedSize {
            // An embedded thumbnail may be enough.
            file = try LibraryFile(
                library, bytes: bytes, limits: options.limits, page: options.page, wantedSize: plan.targetSize,
                threadCount: options.idleProcessorCount, keepsColors: options.keepsColors)
            let size = plan.targetSize
            if file.size != plan.storedSize {
                plan = try DecodingPlan(
                    storedSize: plan.storedSize, colors: file.remainingConversion, options: options)
                assert(plan.targetSize == size)
            }
        }
        let reduction = file.reduction(for: plan.targetSize)
        if reduction > 0, options.allowsDamage {
            // Damaged files are decoded at full size only.
            do throws(WebImageError) {
                return try image(of: file, plan, reduction: reduction, allowsDamage: false)
            } catch .decoding {
                return try image(of: file, plan, reduction: 0, allowsDamage: true)
            }
        }
        return try image(of: file, plan, reduction: reduction, allowsDamage: options.allowsDamage)
    }

    private func image(
        of file: LibraryFile, _ plan: DecodingPlan, reduction: Int, allowsDamage: Bool
    ) throws(WebImageError) -> Image {
        let options = plan.options
        if let part = plan.region { return try image(of: file, plan, part: part) }
        let decodedSize = reduction == 0 ? file.size : file.decodedSize(reduction: reduction)
        let pixelByteCount = plan.byteCount(from: decodedSize)
        let stripHeight = file.stripHeight(reduction: reduction, besides: pixelByteCount)
        let byteCount = pixelByteCount + file.workingByteCount(reduction: reduction, stripHeight: stripHeight)
        return try options.withMemory(byteCount) { () throws(WebImageError) in
            let (pixels, isPartial) = try file.pixels(
                reduction: reduction, stripHeight: stripHeight, allowsDamage: allowsDamage,
                cancellation: options.cancellation)
            var image = try plan.image(of: pixels, format: format, frameCount: file.frameCount)
            image.isPartial = isPartial
            return image
        }
    }

    private func image(
        of file: LibraryFile, _ plan: DecodingPlan, part: PixelRect
    ) throws(WebImageError) -> Image {
        let options = plan.options
        let byteCount = plan.byteCount(from: part.size) + file.workingByteCount(ofPart: part)
        return try options.withMemory(byteCount) { () throws(WebImageError) in
            let (pixels, isPartial) = try file.pixels(
                ofPart: part, allowsDamage: options.allowsDamage, cancellation: options.cancellation)
            var image = try plan.image(of: pixels, format: format, frameCount: file.frameCount)
            image.isPartial = isPartial
            return image
        }
    }

    /// A vector image is drawn at the requested size, also where that is larger than its own. It counts as a
    /// thumbnail, because there is always a larger one.
    private func drawing(of file: LibraryFile, options: DecodingOptions) throws(WebImageError) -> Image {
        var size = file.size
        if let thumbnail = options.thumbnail, thumbnail.isBounded {
            size = thumbnail.mode.size(of: size, in: thumbnail.size, allowsUpscaling: true)
        }
        if let byteLimit = options.byteLimit { size = size.scaledDown(toPixelCount: byteLimit / 4) }
        try options.limits.check(size)
        return try options.withMemory(size.pixelByteCount) { () throws(WebImageError) in
            try options.checkCancellation()
            return Image(pixels: try file.drawn(at: size), scale: options.scale, format: format, isThumbnail: true)
        }
    }
}

extension LibraryFile {
    func plan(_ options: DecodingOptions) throws(WebImageError) -> DecodingPlan {
        try DecodingPlan(
            storedSize: size, orientation: orientation, colors: remainingConversion, options: options)
    }

    /// How often the sides can be halved before they are shorter than those of `target`.
    fileprivate func reduction(for target: PixelSize) -> Int {
        var reduction = 0
        while reduction + 1 < info.resolution_count {
            let next = decodedSize(reduction: reduction + 1)
            guard next.width >= target.width, next.height >= target.height else { break }
            reduction += 1
        }
        return reduction
    }
}

extension DecodingOptions {
    /// All processors if no other image is decoded, else a fair share.
    var idleProcessorCount: Int { DecodingQueue.threadCount(forEachOf: DecodingBudget.shared.decodeCount + 1) }
}

/// Decodes JPEG XL while it arrives: one preview, made of its coarse version.
///
/// libjxl starts from the beginning each time, so the preview is tried whenever the bytes have doubled, until it
/// succeeds: an eighth of the file is usually enough.
final class LibraryIncrementalDecoder: IncrementalImageDecoder {
    private let decoder: LibraryDecoder
    private let options: DecodingOptions
    private var data = Data()
    private(set) var probe: ImageProbe?
    private var hasPreview = false
    private var nextTry = 4 << 10

    init(_ decoder: LibraryDecoder, options: DecodingOptions) {
        self.decoder = decoder
        self.options = options
    }

    /// Known only when the file is complete.
    var animation: (any AnimationSource)? { nil }

    func append(_ bytes: Data) throws(WebImageError) {
        data.append(bytes)
        guard probe == nil else { return }
        probe = try decoder.probe(data)
        if let probe { try options.limits.check(probe.size) }
    }

    func preview() throws(WebImageError) -> Image? {
        guard probe != nil, !hasPreview, data.count >= nextTry else { return nil }
        nextTry = data.count * 2
        let image = try options.withTimeLimit { (options) throws(WebImageError) in
            try data.withBytes { (bytes) throws(WebImageError) in try preview(of: bytes, options: options) }
        }
        hasPreview = image != nil
        return image
    }

    private func preview(of bytes: UnsafeRawBufferPointer, options: DecodingOptions) throws(WebImageError) -> Image? {
        let file = try LibraryFile(
            decoder.library, bytes: bytes, limits: options.limits, threadCount: options.idleProcessorCount,
            isPrefix: true)
        var whole = options
        (whole.thumbnail, whole.byteLimit) = (nil, nil)
        let plan = try file.plan(whole)
        let byteCount = plan.byteCount(from: file.size) + file.workingByteCount()
        return try options.withMemory(byteCount) { () throws(WebImageError) in
            guard let pixels = try file.preview(cancellation: options.cancellation) else { return nil }
            var image = try plan.image(of: pixels, format: decoder.format)
            image.isPartial = true
            return image
        }
    }

    func finish() throws(WebImageError) -> Image { try decoder.decode(data, options: options) }
}

extension LibraryDecoder: ProfileDecoder {
    func colorProfile(of data: Data) throws(WebImageError) -> ColorProfile? {
        try data.withBytes { (bytes) throws(WebImageError) in
            try LibraryFile(library, bytes: bytes, limits: LibraryFormat.headerLimits).profile
        }
    }
}
