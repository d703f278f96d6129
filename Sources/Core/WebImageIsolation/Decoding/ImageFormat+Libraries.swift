internal import WebImageCore

extension ImageFormat {
    /// The formats that only `webimage-decoder` has, because their libraries are large.
    static let ofLibraries: [ImageFormat] = [.svg, .tiff, .jpeg2000, .heic, .jpegXL, .avif]

    /// Those that this package is built with: see `WEBIMAGE_WITHOUT` in `Package.swift`.
    static let builtOfLibraries =
        ofLibraries
        #if WEBIMAGE_WITHOUT_AVIF
            .filter { $0 != .avif }
        #endif
        #if WEBIMAGE_WITHOUT_HEIF
            .filter { $0 != .heic }
        #endif
        #if WEBIMAGE_WITHOUT_JXL
            .filter { $0 != .jpegXL }
        #endif
        #if WEBIMAGE_WITHOUT_TIFF
            .filter { $0 != .tiff }
        #endif
        #if WEBIMAGE_WITHOUT_JP2
            .filter { $0 != .jpeg2000 }
        #endif
        #if WEBIMAGE_WITHOUT_SVG
            .filter { $0 != .svg }
        #endif
}
