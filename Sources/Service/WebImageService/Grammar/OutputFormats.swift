internal import WebImageCore

/// The formats of results.
enum OutputFormats {
    private static let byName: [String: ImageFormat] = [
        "jpg": .jpeg, "jpeg": .jpeg, "png": .png, "webp": .webp, "avif": .avif, "jxl": .jpegXL, "gif": .gif,
        "heic": .heic, "ico": .ico, "bmp": .bmp, "tiff": .tiff, "tif": .tiff,
    ]

    /// The formats of sources that are never written, by the names that URLs have for them.
    static let sourceOnly: [String: ImageFormat] = ["svg": .svg]

    /// Returns the format that a URL names, such as `jpg`; `nil` for one that is not written.
    static func named(_ name: String) -> ImageFormat? { byName[name] }

    /// The qualities of formats whose scale differs from JPEG's, so that all look alike at one number.
    static func standardQuality(of format: ImageFormat, otherwise quality: Int) -> Int {
        switch format {
        case .avif: min(quality, 63)
        case .webp: min(quality, 79)
        case .jpegXL: min(quality, 77)
        default: quality
        }
    }
}
