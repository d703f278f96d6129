internal import FoundationEssentials
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
    /// The given options that only some formats support, such as `--level`, with these formats.
    var limitedOptions: [(name: String, formats: [ImageFormat])] = []

    /// Whether the image has to be encoded, instead of writing the original bytes.
    var isNeeded: Bool {
        isRequired || format != nil || hasQuality || isResized || byteLimit != nil || loopCount != nil
            || frameNumber != nil
            || !limitedOptions.isEmpty
    }

    /// Throws a usage error for an option that `format` does not support.
    func check(for format: ImageFormat, parser: OptionParser) throws(ArgumentError) {
        guard let option = limitedOptions.first(where: { !$0.formats.contains(format) }) else { return }
        let names = option.formats.map { $0.name.uppercased() }
        let list = ([names.dropLast().joined(separator: ", ")] + [names.last ?? "none"]).filter { !$0.isEmpty }
        throw parser.error(
            "--\(option.name) is for \(list.joined(separator: " and ")), not for \(format.name.uppercased())")
    }

    /// Returns the format to write: the specified one, else the image's own, else PNG, which is lossless. If a quality
    /// is specified for a format without one, JPEG.
    func format(for image: Image) -> ImageFormat {
        if let format { return format }
        let own = image.format.flatMap { ImageFormat.writable.contains($0) ? $0 : nil } ?? .png
        if hasQuality, ![.jpeg, .webp].contains(own) { return .jpeg }
        return own
    }

    /// Encodes the image on the calling thread.
    func encode(_ image: Image) throws(WebImageError) -> Data {
        let format = format(for: image)
        let registry = CodecRegistry.shared
        var options = options
        options.byteLimit = byteLimit
        var image = image
        if let frameNumber {
            image = try frame(frameNumber, of: image, format: format)
        } else if let animation = image.animation, registry.canEncodeAnimation(as: format) {
            var copy = EncodableAnimation(animation)
            copy.loopCount = loopCount ?? copy.loopCount
            return try registry.encode(copy, as: format, options: options)
        }
        return try registry.encode(image, as: format, options: options)
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
