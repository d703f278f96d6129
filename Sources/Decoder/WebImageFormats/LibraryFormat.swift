internal import CWebImageFormats
internal import WebImageCoding
internal import WebImageCore

/// A format that a library reads.
enum LibraryFormat: Sendable, CaseIterable {
    // In the order of registration: the last one is tried first.
    case svg
    case tiff
    case jpeg2000
    case heic
    case jpegXL
    case avif

    var format: ImageFormat {
        switch self {
        case .avif: .avif
        case .heic: .heic
        case .jpegXL: .jpegXL
        case .tiff: .tiff
        case .jpeg2000: .jpeg2000
        case .svg: .svg
        }
    }

    var library: cwi_format {
        switch self {
        case .avif: CWI_AVIF
        case .heic: CWI_HEIC
        case .jpegXL: CWI_JPEG_XL
        case .tiff: CWI_TIFF
        case .jpeg2000: CWI_JPEG_2000
        case .svg: CWI_SVG
        }
    }

    /// Whether the program was built with the library.
    var isBuilt: Bool { cwi_has_format(library) }

    func canEncode(animation: Bool) -> Bool { cwi_can_encode(library, animation) }

    /// Whether ``MediaFile`` reads its boxes.
    var hasMediaBoxes: Bool { self == .avif || self == .heic }

    /// The limits for reading what a file tells about itself: no pixels are decoded, so the size may be larger than can be.
    static let headerLimits: DecodingLimits = {
        var limits = DecodingLimits.default
        limits.pixelCount = 1 << 30
        return limits
    }()
}

extension cwi_result {
    /// Throws the error, if it is one.
    func check(_ format: ImageFormat, limits: DecodingLimits, page: Int? = nil) throws(WebImageError) {
        switch status {
        case CWI_OK: return
        case CWI_TRUNCATED: throw format.truncated
        case CWI_UNSUPPORTED: throw format.unsupported(text)
        case CWI_NO_LIBRARY: throw .isolation(format: format, reason: .unavailable(text))
        case CWI_NO_MEMORY: throw .outOfResources(reason: .memory(byteCount: limits.memoryByteCount))
        case CWI_NO_PAGE: _ = try format.page(page, of: Int(page_count))
        case CWI_LIMIT where width == 0:
            throw .limitExceeded(reason: .memory(byteCount: limits.memoryByteCount, limit: limits.memoryByteCount))
        case CWI_LIMIT:
            let size = PixelSize(width: Int(clamping: width), height: Int(clamping: height))
            throw .limitExceeded(reason: .pixels(size: size, limit: limits.pixelCount))
        default: throw format.corrupt(text)
        }
    }

    var text: String {
        withUnsafeBytes(of: message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
