internal import CWebImageFormats
public import WebImageCoding
internal import WebImageCore

extension CodecRegistry {
    /// Adds the decoders and encoders of AVIF, HEIC, JPEG XL, TIFF, JPEG 2000 and SVG, as far as the program was built
    /// with their libraries. Call it once, before the first load.
    ///
    /// ```swift
    /// import WebImage
    /// import WebImageFormats
    ///
    /// CodecRegistry.shared.registerFormats()
    /// ```
    ///
    /// | format | library | decodes | encodes |
    /// |---|---|---|---|
    /// | AVIF | libavif | stills, sequences | stills, sequences |
    /// | HEIC | libheif | stills; of a sequence its still | with `writesHEIC` |
    /// | JPEG XL | libjxl | stills, animations, a preview | stills, animations |
    /// | TIFF | libtiff | pages; 1 to 64 bits, floating point, CMYK, CIELab | stills |
    /// | JPEG 2000 | OpenJPEG | stills | stills |
    /// | SVG | librsvg | at any size; nothing external is loaded | |
    ///
    /// A library cannot be interrupted while it decodes an image or a frame.
    ///
    /// - Parameter writesHEIC: whether images can be encoded as HEIC; `false` by default. Debian's libheif does it with
    ///   x265, which is under the GNU GPL or a commercial license, and HEVC is patented.
    public func registerFormats(writesHEIC: Bool = false) {
        for library in LibraryFormat.allCases where library.isBuilt {
            register(LibraryDecoder(library))
            if library.canEncode(animation: false), library != .heic || writesHEIC {
                register(
                    library.canEncode(animation: true) ? LibraryAnimationEncoder(library) : LibraryEncoder(library))
            }
        }
    }

    /// Loads what the libraries otherwise load later, for a process that will be unable to open files.
    ///
    /// - Parameter offer: gets the paths of the files that the libraries open even then.
    package static func prepareForSandbox(offer: @convention(c) (UnsafePointer<CChar>?) -> Void) { cwi_prepare(offer) }
}
