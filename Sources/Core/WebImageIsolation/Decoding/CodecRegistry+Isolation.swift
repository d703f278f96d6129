public import WebImageCoding
public import WebImageCore

extension CodecRegistry {
    /// Returns a registry with the same codecs, of which those that `policy` names work in the processes of `isolation`. Codecs that are
    /// registered later, in this registry, are included.
    ///
    /// Managers do this with the policy of their configuration. Elsewhere, as for ``ImageCache``, or to decode
    /// directly, use the result in place of this registry:
    ///
    /// ```swift
    /// let image = try CodecRegistry.shared.isolated(by: .allFormats).decode(data)
    /// ```
    ///
    /// - Parameters:
    ///   - isolation: the processes; those that all managers share by default. Codecs that work in others already stay there.
    ///   - encoders: whether encoders are isolated as well; `false` by default, because they read pixels, not files.
    public func isolated(
        by policy: IsolationPolicy, in isolation: IsolatedDecoding = .shared, encoders: Bool = false
    ) -> CodecRegistry {
        CodecRegistry(
            substituting: self,
            decoder: { decoder in
                if let isolated = decoder as? IsolatedDecoder { return isolated.applying(policy, in: isolation) }
                if !policy.isolates(decoder.format), let icons = decoder as? ICNSDecoder,
                    let jpeg2000 = icons.jpeg2000 as? IsolatedDecoder
                {
                    return ICNSDecoder(jpeg2000: jpeg2000.applying(policy, in: isolation))
                }
                // Custom decoders are code of the program.
                guard decoder is any OwnDecoder, policy.isolates(decoder.format) else { return decoder }
                return IsolatedDecoder(decoder.format, isolation: isolation, policy: policy)
            },
            encoder: { encoder in
                switch encoder {
                case let isolated as IsolatedEncoder: return isolated.applying(policy, in: isolation)
                case let isolated as IsolatedAnimationEncoder: return isolated.applying(policy, in: isolation)
                default: break
                }
                guard encoders, ImageFormat.known.contains(encoder.format), policy.isolates(encoder.format) else {
                    return encoder
                }
                let stills = IsolatedEncoder(encoder.format, isolation: isolation, policy: policy)
                return encoder is any AnimationEncoder ? IsolatedAnimationEncoder(stills) : stills
            })
    }

    /// Whether files of `format` are decoded in other processes.
    public func isIsolated(_ format: ImageFormat) -> Bool { decoder(of: format) is IsolatedDecoder }
}
