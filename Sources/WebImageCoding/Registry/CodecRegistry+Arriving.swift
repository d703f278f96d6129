public import FoundationEssentials
public import WebImageCore

/// For files of which the first bytes are there.
extension CodecRegistry {
    /// What the first bytes of a file tell; `nil` while they are too few, and for what no decoder knows.
    ///
    /// A decoder that has no answer passes the bytes on, unlike one that decodes: what a file says about itself is the
    /// same for all.
    ///
    /// - Throws: ``WebImageError/imageTooLarge(size:pixelLimit:)`` for a picture over the limits, and
    ///   ``WebImageError/decoding(format:reason:)`` when more bytes can't help.
    public func probe(_ prefix: Data, limits: DecodingLimits = .default) throws(WebImageError) -> ImageProbe? {
        for decoder in decoders(accepting: prefix) {
            do {
                guard let probe = try decoder.probe(prefix) else { continue }
                try limits.check(probe.size)
                return probe
            } catch .decoding(_, .unsupported) {
                continue
            }
        }
        return nil
    }

    /// A decoder for the file that begins with `prefix`, which it has taken already.
    ///
    /// `nil` while the bytes are too few to tell the format, and where they will have to be decoded when they are all there:
    /// because nobody can show them before, or because nobody knows them.
    ///
    /// The decoder that ``decode(_:options:)`` would ask makes it. Where that one finds out later that it does not support
    /// the file, the whole file may still be another's.
    ///
    /// - Throws: what ``IncrementalImageDecoder/append(_:)`` throws.
    public func makeIncrementalDecoder(
        startingWith prefix: Data, options: DecodingOptions = DecodingOptions()
    ) throws(WebImageError) -> (any IncrementalImageDecoder)? {
        for decoder in decoders(accepting: prefix) {
            do {
                let incremental = decoder.makeIncrementalDecoder(options: options)
                try incremental?.append(prefix)
                return incremental
            } catch .decoding(_, .unsupported) {
                continue
            }
        }
        return nil
    }
}
