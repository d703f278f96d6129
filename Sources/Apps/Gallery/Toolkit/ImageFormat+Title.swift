import WebImageGTK

extension ImageFormat {
    /// The name for users, such as `JPEG` and `WebP`.
    var title: String {
        switch self {
        case .webp: "WebP"
        case .jpegXL: "JPEG XL"
        case .jpeg2000: "JPEG 2000"
        default: name.uppercased()
        }
    }
}
