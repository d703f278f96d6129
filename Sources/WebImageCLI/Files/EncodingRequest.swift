internal import FoundationEssentials
internal import WebImage

/// How a picture is to be encoded, if at all.
struct EncodingRequest: Sendable {
    var format: ImageFormat?
    var isResized = false
    /// Whether images are encoded even without any option that asks for it.
    var isRequired = false
    var options = EncodingOptions()
    /// Whether an option asks for quality.
    var hasQuality = false
    var byteLimit: Int?
    /// How often an animation plays, 0 for ever; `nil` for as often as it did.
    var loopCount: Int?
    /// The only frame that is written, counted from 1.
    var frameNumber: Int?
    /// What was given of that which only some formats have, such as `--level`, and those formats.
    var limitedOptions: [(name: String, formats: [ImageFormat])] = []

    /// Whether the original bytes won't do.
    var isNeeded: Bool {
        isRequired || format != nil || hasQuality || isResized || byteLimit != nil || loopCount != nil
            || frameNumber != nil
            || !limitedOptions.isEmpty
    }

    /// Complains of what `format` does not have.
    func check(for format: ImageFormat, parser: OptionParser) throws(ArgumentError) {
        guard let option = limitedOptions.first(where: { !$0.formats.contains(format) }) else { return }
        let names = option.formats.map { $0.name.uppercased() }
        let list = ([names.dropLast().joined(separator: ", ")] + [names.last ?? "none"]).filter { !$0.isEmpty }
        throw parser.error(
            "--\(option.name) is for \(list.joined(separator: " and ")), not for \(format.name.uppercased())")
    }

    /// What was asked for, or the picture's own, or where that won't do PNG, which loses nothing; JPEG when a quality
    /// is asked for.
    func format(for image: Image) -> ImageFormat {
        if let format { return format }
        let own = image.format.flatMap { ImageFormat.writable.contains($0) ? $0 : nil } ?? .png
        if hasQuality, ![.jpeg, .webp].contains(own) { return .jpeg }
        return own
    }

    /// Blocks the calling thread.
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
