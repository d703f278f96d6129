internal import FoundationEssentials
internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// How a command decodes an input, for the advice to an error.
struct DecodingSettings: Sendable {
    let input: ImageInput
    let limits: InputLimits
    let codecs: CodecRegistry
    /// Whether `--size` would reduce the memory: the command has the option, it was not given, and the image can be
    /// decoded at a size.
    var canScale = false

    /// Returns a message about an image of which only a part could be decoded; `nil` for a complete one.
    func warning(about image: Image) -> LocalizableText? {
        image.isPartial ? "\(input.displayName): incomplete or damaged; what there is of it was decoded." : nil
    }

    /// Returns advice about an image that takes more memory than allowed; `nil` if no option helps.
    ///
    /// - Parameters:
    ///   - byteCount: what decoding takes.
    ///   - allowed: the limit that it exceeds.
    func advice(forMemory byteCount: Int, allowed: Int) -> LocalizableText? {
        let limit = sufficientLimit(forMemory: byteCount, allowed: allowed, size: size)?.sufficientLimit
        return switch (canScale, limit) {
        case (true, nil): "Use --size to decode a smaller image."
        case (true, let limit?):
            "Use --size to decode a smaller image; for a file you trust: --\(InputLimits.optionName) \(limit)."
        case (false, let limit?): "For a file you trust: --\(InputLimits.optionName) \(limit)."
        case (false, nil): nil
        }
    }

    /// The value of `--max-pixels` with which an image is decoded; `nil` if no value is enough.
    ///
    /// - Parameter size: that of the image, if it is known.
    func sufficientLimit(forMemory byteCount: Int, allowed: Int, size: PixelSize?) -> PixelCount? {
        let limits = self.limits.limits(for: input)
        // Some decoders allow a part of the limit, at least half. A bound of their own is less, and no option raises it.
        guard allowed > 0, allowed >= limits.memoryByteCount / 2 else { return nil }
        let needed = Double(byteCount) * max(1, Double(limits.memoryByteCount) / Double(allowed))
        guard needed < 1e15 else { return nil }
        // Of a file, any number of pixels was allowed; decoders hold 2 bytes a pixel at least.
        let pixelCount =
            size?.pixelCount ?? (limits.pixelCount < PixelCount.largest ? limits.pixelCount : byteCount / 2)
        let count = max(pixelCount, InputLimits.count(forMemory: Int(needed.rounded(.up))))
        // Options have round numbers.
        return count <= PixelCount.largest - 50_000_000 ? PixelCount(count) : nil
    }

    /// The size of a file, from its beginning.
    private var size: PixelSize? {
        guard input.isFile, let start = try? input.data(upTo: ImageProbe.byteLimit) else { return nil }
        return (try? codecs.probe(start, limits: limits.limits(for: input)))?.size
    }
}
