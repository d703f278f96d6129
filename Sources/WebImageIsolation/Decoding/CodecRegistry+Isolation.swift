public import WebImageCoding
package import WebImageCore

extension CodecRegistry {
    /// Returns a registry with the same codecs, of which those that `policy` names work in other processes. Codecs that are registered later,
    /// in this registry, are included.
    ///
    /// Managers do this with the policy of their configuration. Elsewhere, as for ``ImageCache``, or to decode
    /// directly, use the result in place of this registry:
    ///
    /// ```swift
    /// let image = try CodecRegistry.shared.isolated(by: .always).decode(data)
    /// ```
    ///
    /// - Parameters:
    ///   - isolation: the processes; those that all managers share by default.
    ///   - encoders: whether encoders are isolated as well; `false` by default, because they read pixels, not files.
    public func isolated(
        by policy: IsolationPolicy, in isolation: IsolatedDecoding = .shared, encoders: Bool = false
    ) -> CodecRegistry {
        guard policy.scope != .none else { return self }
        return CodecRegistry(
            substituting: self,
            decoder: { decoder in
                // Custom decoders are code of the program.
                guard decoder is any ProbingDecoder, !(decoder is IsolatedDecoder),
                    policy.isolates(decoder.format)
                else { return decoder }
                return IsolatedDecoder(decoder.format, original: decoder, isolation: isolation, policy: policy)
            },
            encoder: { encoder in
                guard encoders, ImageFormat.known.contains(encoder.format), policy.isolates(encoder.format),
                    !(encoder is IsolatedEncoder || encoder is IsolatedAnimationEncoder)
                else { return encoder }
                let stills = IsolatedEncoder(
                    encoder.format, original: encoder, isolation: isolation, policy: policy)
                return encoder is any AnimationEncoder ? IsolatedAnimationEncoder(stills) : stills
            })
    }

    /// Whether files of `format` are decoded in other processes: a policy demands it, and a process could be started when one was last
    /// needed.
    package func isIsolated(_ format: ImageFormat) -> Bool {
        (decoder(of: format) as? IsolatedDecoder)?.hasProcess == true
    }

    /// Adds the formats of the product `WebImageFormats` without its libraries: `webimage-decoder` has them, so a program that never
    /// needs them does not load them.
    ///
    /// Without `webimage-decoder`, files of these formats fail with ``WebImageError/isolation(format:reason:url:)``.
    ///
    /// - Parameter writesHEIC: as in `registerFormats`.
    public func registerIsolatedFormats(in isolation: IsolatedDecoding = .shared, writesHEIC: Bool = false) {
        for format in ImageFormat.ofLibraries {
            register(IsolatedDecoder(format, original: nil, isolation: isolation, policy: .automatic))
            guard format != .svg, format != .heic || writesHEIC else { continue }
            let encoder = IsolatedEncoder(format, original: nil, isolation: isolation, policy: .automatic)
            let isAnimated = format == .avif || format == .jpegXL
            register(isAnimated ? IsolatedAnimationEncoder(encoder) : encoder)
        }
    }
}

extension IsolationPolicy {
    fileprivate func isolates(_ format: ImageFormat) -> Bool {
        switch scope {
        case .none: false
        case .libraries: ImageFormat.ofLibraries.contains(format)
        case .all: true
        }
    }
}
