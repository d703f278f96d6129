internal import CWebImageCairo
internal import WebImageCore

/// cairo's answers as errors.
enum CairoStatus {
    static func check(_ status: cairo_status_t) throws(WebImageError) {
        guard status != CAIRO_STATUS_SUCCESS else { return }
        let message = cairo_status_to_string(status).map { String(cString: $0) } ?? "unknown"
        throw .drawing(.cairo(status: Int(status.rawValue), message: message))
    }
}
