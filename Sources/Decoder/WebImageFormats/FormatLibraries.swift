internal import CWebImageFormats
package import WebImageCoding
package import WebImageCore

/// The libraries of formats that only a decoder process loads.
package enum FormatLibraries {
    /// Returns a registry whose codecs all work in this process, as those of a decoder process do.
    ///
    /// | format | library | decodes | encodes |
    /// |---|---|---|---|
    /// | AVIF | libavif | stills, sequences | stills, sequences |
    /// | HEIC | libheif | stills; of a sequence its still | stills |
    /// | JPEG XL | libjxl | stills, animations, a preview | stills, animations |
    /// | TIFF | libtiff | pages; 1 to 64 bits, floating point, CMYK, CIELab | stills |
    /// | JPEG 2000 | OpenJPEG | stills | stills |
    /// | SVG | librsvg | at any size; nothing external is loaded | |
    ///
    /// Formats that the package is built without are missing. A library cannot be interrupted while it decodes an image or a frame.
    package static func registry() -> CodecRegistry {
        let libraries = LibraryFormat.allCases.filter(\.isBuilt)
        let jpeg2000 = libraries.contains(.jpeg2000) ? LibraryDecoder(.jpeg2000) : nil
        return CodecRegistry(
            decoders: CodecRegistry.builtInDecoders(jpeg2000: jpeg2000) + libraries.map { LibraryDecoder($0) },
            encoders: CodecRegistry.builtInEncoders
                + libraries.filter { $0.canEncode(animation: false) }.map { library -> any ImageEncoder in
                    library.canEncode(animation: true) ? LibraryAnimationEncoder(library) : LibraryEncoder(library)
                })
    }

    /// Loads the library of a format, and what that loads when an image needs it, for a process that will be unable to open files. Without the
    /// library, images of the format are errors.
    ///
    /// - Parameter offer: gets the paths of the files that the library opens even then.
    package static func load(
        _ format: ImageFormat, offer: @convention(c) (UnsafePointer<CChar>?) -> Void
    ) {
        guard let library = LibraryFormat.allCases.first(where: { $0.format == format }) else { return }
        cwi_prepare(library.library, offer)
    }
}
