public import FoundationEssentials
public import WebImageCoding
internal import WebImageCore

extension CodecRegistry {
    /// The default registry, with all formats of this library.
    ///
    /// | works in | decodes | encodes |
    /// |---|---|---|
    /// | this process | JPEG, PNG, GIF, WebP, BMP, ICO, ICNS, PNM, QOI | JPEG, PNG, GIF, WebP, BMP, ICO |
    /// | processes of `webimage-decoder` | AVIF, HEIC, JPEG XL, TIFF, JPEG 2000, SVG | AVIF, JPEG XL, TIFF, JPEG 2000 |
    ///
    /// Without `webimage-decoder`, formats of the second row fail with ``WebImageError/isolation(format:reason:url:)``. HEIC is encoded
    /// after ``registerHEICEncoder(in:)``.
    public static let shared: CodecRegistry = {
        func decoder(_ format: ImageFormat) -> IsolatedDecoder {
            IsolatedDecoder(format, isolation: .shared, policy: .libraryFormats)
        }
        let icons = ImageFormat.builtOfLibraries.contains(.jpeg2000) ? decoder(.jpeg2000) : nil
        return CodecRegistry(
            decoders: builtInDecoders(jpeg2000: icons) + ImageFormat.builtOfLibraries.map(decoder),
            encoders: builtInEncoders
                + ImageFormat.builtOfLibraries.compactMap { format -> (any ImageEncoder)? in
                    guard format != .svg, format != .heic else { return nil }
                    let encoder = IsolatedEncoder(format, isolation: .shared, policy: .libraryFormats)
                    return format == .avif || format == .jpegXL ? IsolatedAnimationEncoder(encoder) : encoder
                })
    }()

    /// Adds the encoder for HEIC, which works in processes of `webimage-decoder`.
    ///
    /// It is not registered by default, because HEVC is patented, and because Debian's libheif encodes with x265, which is under the GNU GPL or a
    /// commercial license. Decoding HEIC needs no call.
    public func registerHEICEncoder(in isolation: IsolatedDecoding = .shared) {
        guard ImageFormat.builtOfLibraries.contains(.heic) else { return }
        register(IsolatedEncoder(.heic, isolation: isolation, policy: .libraryFormats))
    }
}

extension EncodableAnimation {
    /// Appends an encoded image in any format that ``CodecRegistry/shared`` reads, or the first frame of an animated one. It is
    /// decoded when the animation is encoded; data mapped from a file takes no memory until then.
    ///
    /// - Parameter duration: as in ``append(_:duration:)``.
    public mutating func append(_ data: Data, duration: Duration) {
        append(data, duration: duration, registry: .shared)
    }
}
