public import CWebImageGTK

extension UnsafeMutablePointer<GError>? {
    /// Returns the text for users, and releases the error.
    public func takeMessage() -> String {
        guard let error = self else { return "unknown error" }
        defer { g_error_free(error) }
        return error.pointee.message.map { String(cString: $0) } ?? "unknown error"
    }
}
