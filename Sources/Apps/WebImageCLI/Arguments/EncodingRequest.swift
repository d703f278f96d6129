internal import FoundationEssentials
internal import ProgramSupport
internal import WebImage

/// How to encode an image, if at all.
struct EncodingRequest: Sendable {
    var format: ImageFormat?
    var isResized = false
    /// Whether images are encoded even if no option requires it.
    var isRequired = false
    var options = EncodingOptions()
    /// Whether an option specifies the quality.
    var hasQuality = false
    var byteLimit: Int?
    /// How often an animation plays, 0 for forever; `nil` to keep the original loop count.
    var loopCount: Int?
    /// The number of the only frame to write, starting at 1.
    var frameNumber: Int?
    /// Whether each frame is written into a file of its own.
    var splitsFrames = false
    /// The part of the original's EXIF and XMP that is kept.
    var metadata = MetadataChoice.none
    /// The registry with the encoders.
    var codecs = CodecRegistry.shared
    /// The given options that only some formats support, such as `--level`, with these formats.
    var limitedOptions: [(name: String, formats: [ImageFormat])] = []

    /// Whether the image has to be encoded, instead of writing the original bytes.
    var isNeeded: Bool {
        isRequired || format != nil || hasQuality || isResized || byteLimit != nil || loopCount != nil
            || frameNumber != nil || splitsFrames
            || !limitedOptions.isEmpty
    }

    /// Whether images are decoded with the colors of their profile, which the file gets. `nil` as the format is that of the
    /// image, or PNG.
    var keepsColors: Bool { metadata == .all && format.map(Self.profileFormats.contains) != false }

    /// The formats whose files get a color profile.
    private static let profileFormats: Set<ImageFormat> = [.jpeg, .png, .webp, .avif, .heic, .jpegXL, .tiff]

    /// Throws a usage error for an option that `format` does not support.
    func check(for format: ImageFormat, parser: OptionParser) throws(ArgumentError) {
        guard let option = limitedOptions.first(where: { !$0.formats.contains(format) }) else { return }
        let names = LocalizableText.allOf(option.formats.map { $0.name.uppercased() })
        throw parser.error("--\(option.name) is for \(names), not for \(format.name.uppercased())")
    }

    /// Returns the format to write: the specified one, else the image's own, else PNG, which is lossless. If a quality
    /// is specified for a format without one, JPEG.
    func format(for image: Image) -> ImageFormat {
        if let format { return format }
        let own = image.format.flatMap { ImageFormat.writable.contains($0) ? $0 : nil } ?? .png
        if hasQuality, !options.usesQuality(as: own) { return .jpeg }
        return own
    }

    /// Encodes the image on the calling thread.
    ///
    /// - Parameters:
    ///   - original: the file that it was decoded from, whose metadata may be kept.
    ///   - steps: what is done to the image before; its gain map follows.
    func encode(_ image: Image, original: Data?, steps: TrackedSteps? = nil) throws(WebImageError) -> Data {
        let format = format(for: image)
        var options = options
        options.byteLimit = byteLimit
        switch metadata {
        case .none: break
        case .color:
            options.metadata = ImageMetadata()
            options.writesColorProfile = true
        case .all: options.metadata = try original.map { data throws(WebImageError) in try codecs.metadata(of: data) }
        }
        var image = image
        if keepsColors, let original, let profile = try codecs.keptProfile(of: original) {
            if Self.profileFormats.contains(format) {
                options.colorProfile = profile
            } else {
                let pixels = try image.pixels.convertedToSRGB(from: profile)
                image = Image(pixels: pixels, scale: image.scale, format: image.format)
            }
        }
        if let steps {
            if let original, frameNumber == nil, image.animation == nil {
                return try codecs.encode(
                    image, processedBy: steps.processors, withGainMapOf: original, as: format, options: options,
                    limits: steps.limits)
            }
            image = try image.processed(by: steps.processors)
        }
        if let frameNumber {
            image = try frame(frameNumber, of: image, format: format)
        } else if let animation = image.animation, codecs.canEncodeAnimation(as: format) {
            var copy = EncodableAnimation(animation)
            copy.loopCount = loopCount ?? copy.loopCount
            return try codecs.encode(copy, as: format, options: options)
        }
        return try codecs.encode(image, as: format, options: options)
    }

    private func frame(_ number: Int, of image: Image, format: ImageFormat) throws(WebImageError) -> Image {
        let frameCount = image.animation?.frameCount ?? 1
        guard number <= frameCount else {
            throw .encoding(format: format, reason: .frameNumber(number, frameCount: frameCount))
        }
        guard let animation = image.animation else { return image }
        return Image(pixels: try animation.makeFrameReader().frame(at: number - 1, cancellation: nil))
    }
}

/// The metadata that are written: EXIF, XMP and a color profile.
enum MetadataChoice: String, CaseIterable {
    case none
    /// The orientation, and a profile of sRGB.
    case color
    case all
}

extension EncodingRequest {
    /// The declarations of the encoding options in a parser.
    struct Declaration {
        private let format, quality, level, filter, effort, preset, speed, alphaQuality, chroma: OptionParser.Option
        private let iconSizes, dithering, palette, colors, loop, maximum, background, frame,
            metadata: OptionParser.Option
        private let lossless, optimized, wholeFrames, firstFrame, strip: OptionParser.Flag
        private let progressive: OptionParser.Flag?
        /// The names of the options.
        let names: [String]

        /// - Parameter canBeProgressive: whether `--progressive` selects progressive JPEG.
        init(in parser: OptionParser, canBeProgressive: Bool) {
            let first = parser.syntax.options.count
            parser.group = "Encoding"
            format = parser.option(
                "format", value: "NAME", completion: .words(ImageFormat.writable.map(\.name)),
                help: "Write \(ImageFormat.writableNames)")
            quality = parser.option(
                "quality", formats: [.jpeg, .webp, .avif, .heic, .jpegXL, .jpeg2000], value: "0…100",
                help: "Quality of JPEG, WebP, AVIF, HEIC, JPEG XL and JPEG 2000; 85 by default")
            lossless = parser.flag(
                "lossless", formats: [.webp, .avif, .heic, .jpegXL, .jpeg2000],
                help: "Lossless WebP, AVIF, HEIC, JPEG XL and JPEG 2000")
            maximum = parser.option(
                "max-bytes", value: "SIZE",
                help: "Lower quality, then size, until the file has SIZE bytes (or 500K, 2M)")
            metadata = parser.option(
                "metadata", words: MetadataChoice.allCases.map(\.rawValue),
                help:
                    "Keep no metadata (default), write orientation and an sRGB profile, or keep all EXIF, XMP, color profiles and gain maps"
            )
            strip = parser.flag("strip", help: "Keep no metadata, as --metadata none")
            background = parser.option(
                "background", formats: [.jpeg, .gif], value: "#rrggbb",
                help: "Color behind transparent pixels in JPEG and GIF; white by default")

            parser.group = "JPEG and PNG"
            progressive =
                canBeProgressive ? parser.flag("progressive", formats: [.jpeg], help: "Progressive JPEG") : nil
            optimized = parser.flag(
                "optimize", formats: [.jpeg], help: "Optimize the Huffman codes of JPEG; smaller, slower")
            chroma = parser.option(
                "chroma", formats: [.jpeg], words: ["444", "422", "420"],
                help: "Chroma subsampling of JPEG; 420 below quality 90, else 444")
            level = parser.option(
                "level", formats: [.png], value: "0…12", help: "Compression level of PNG; 4 by default")
            filter = parser.option(
                "filter", formats: [.png], value: "NAME",
                completion: .words(EncodingOptions.PNGFilter.allCases.map(\.rawValue)),
                help: "PNG filter: adaptive (default), none, sub, up, average or paeth")

            parser.group = "WebP, AVIF, HEIC, JPEG XL and TIFF"
            effort = parser.option(
                "effort", formats: [.webp, .png], value: "0…6",
                help:
                    "Compression effort of WebP and PNG, where 5 and 6 also search for the best way to store colors; 4 by default"
            )
            preset = parser.option(
                "preset", formats: [.webp], value: "NAME",
                completion: .words(EncodingOptions.WebPPreset.allCases.map(\.rawValue)),
                help: "Content for which lossy WebP is tuned: default, picture, photo, drawing, icon or text")
            speed = parser.option(
                "speed", formats: [.avif, .heic, .jpegXL, .tiff], value: "0…10",
                help: "Speed of AVIF, HEIC, JPEG XL and TIFF, 10 is fastest; 7 by default")
            alphaQuality = parser.option(
                "alpha-quality", formats: [.webp, .avif], value: "0…100",
                help: "Quality of transparency in lossy WebP and AVIF; 100 by default")

            parser.group = "GIF and icons"
            dithering = parser.option(
                "dither", formats: [.gif], value: "NAME",
                completion: .words(EncodingOptions.Dithering.allCases.map(\.rawValue)),
                help: "GIF dithering: none, ordered or floyd-steinberg (default)")
            palette = parser.option(
                "palette", formats: [.gif], words: EncodingOptions.Palette.allCases.map(\.rawValue),
                help: "One GIF palette per frame (default), or one for all frames")
            colors = parser.option(
                "colors", formats: [.gif], value: "2…256", help: "Number of colors in a GIF palette; 256 by default")
            iconSizes = parser.option(
                "icon-sizes", formats: [.ico], value: "N,N…",
                help: "Sides of the images in an ICO, such as 16,32,48; at most 256")

            parser.group = "Animations"
            loop = parser.option(
                "loop", formats: [.gif, .png, .webp, .jpegXL], value: "N",
                help: "Play an animation N times; 0 is forever; unchanged by default")
            wholeFrames = parser.flag(
                "whole-frames", formats: [.gif, .png, .webp], help: "Write complete frames instead of only the changes")
            frame = parser.option(
                "frame", value: "N|all",
                help:
                    "Write only the Nth frame, counting from 1, or with 'convert' each into a file whose name has {index}"
            )
            firstFrame = parser.flag("first-frame", help: "Write only the first frame")
            names = parser.syntax.options[first...].map(\.name)
        }

        func request(from parser: OptionParser, isResized: Bool) throws(ArgumentError) -> EncodingRequest {
            var request = EncodingRequest()
            request.format = try parser.writableFormat(format)
            request.isResized = isResized
            try readStills(into: &request.options, from: parser)
            request.hasQuality = quality.value != nil
            request.limitedOptions = parser.givenLimitedOptions
            let choice: MetadataChoice? = try parser.choice(metadata)
            if strip.isSet, let choice, choice != .none {
                throw parser.error("--strip and --metadata \(choice.rawValue) cannot be used together")
            }
            if let kept = choice ?? (strip.isSet ? MetadataChoice.none : nil) {
                request.metadata = kept
                // The original bytes may have what is not to be kept.
                request.isRequired = true
                if kept != .none {
                    request.limitedOptions.append(
                        (metadata.name, [.jpeg, .png, .webp, .avif, .heic, .jpegXL, .tiff, .jpeg2000]))
                }
            }
            if lossless.isSet {
                if request.hasQuality { throw parser.error("--lossless and --quality cannot be used together") }
                if alphaQuality.value != nil {
                    throw parser.error("--lossless and --alpha-quality cannot be used together")
                }
            }
            try readAnimation(into: &request, from: parser)
            if let text = maximum.value {
                guard let count = ByteCount(text)?.value, count > 0 else {
                    throw parser.error("--max-bytes takes a size such as 20000, 500K or 2M, not '\(text)'")
                }
                request.byteLimit = count
            }
            return request
        }

        private func readStills(into options: inout EncodingOptions, from parser: OptionParser) throws(ArgumentError) {
            options.quality = try parser.percentage(quality) ?? options.quality
            options.isProgressive = progressive?.isSet == true
            options.optimizesHuffmanCodes = optimized.isSet
            options.chroma = try parser.choice(chroma) ?? .automatic
            options.pngLevel = try parser.count(level, in: 0...12) ?? options.pngLevel
            options.pngFilter = try parser.choice(filter) ?? .adaptive
            options.isLossless = lossless.isSet
            if let effort = try parser.count(effort, in: 0...6) {
                options.webPEffort = effort
                if level.value == nil { options.pngLevel = [1, 2, 3, 4, 6, 9, 12][effort] }
                options.searchesPNG = effort > 4
            }
            options.webPPreset = try parser.choice(preset) ?? .standard
            options.speed = try parser.count(speed, in: 0...10) ?? options.speed
            options.alphaQuality = try parser.percentage(alphaQuality) ?? 1
            options.dithering = try parser.choice(dithering) ?? .floydSteinberg
            options.palette = try parser.choice(palette) ?? .perFrame
            options.colorLimit = try parser.count(colors, in: 2...256) ?? 256
            options.iconSides = try parser.sides(iconSizes) ?? []
            options.background = try parser.color(background) ?? options.background
        }

        private func readAnimation(
            into request: inout EncodingRequest, from parser: OptionParser
        ) throws(ArgumentError) {
            request.loopCount = try parser.count(loop, in: 0...65_535)
            request.options.framing = wholeFrames.isSet ? .whole : .changes
            request.splitsFrames = frame.value == "all"
            if !request.splitsFrames {
                request.frameNumber = try parser.count(frame, in: 1...1_000_000_000)
            }
            if firstFrame.isSet {
                if frame.value != nil { throw parser.error("--frame and --first-frame cannot be used together") }
                request.frameNumber = 1
            }
            if request.frameNumber != nil || request.splitsFrames, loop.value != nil || wholeFrames.isSet {
                throw parser.error("--loop and --whole-frames need an animation, not a single frame")
            }
        }
    }
}
