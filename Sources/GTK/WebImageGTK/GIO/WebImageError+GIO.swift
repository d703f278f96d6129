internal import CWebImageGTK
internal import FoundationEssentials
internal import Glibc
internal import GTKObjects
internal import WebImage

extension WebImageError {
    /// Makes an error of one of GIO, which it releases.
    ///
    /// - Parameter name: what was read: a URL, or the identifier of a request.
    init(taking error: UnsafeMutablePointer<GError>?, reading name: String) {
        let code = error?.pointee.domain == g_io_error_quark() ? error?.pointee.code : nil
        let message = error.takeMessage()
        switch code.map({ GIOErrorEnum(rawValue: GIOErrorEnum.RawValue($0)) }) {
        case G_IO_ERROR_CANCELLED: self = .cancelled
        case G_IO_ERROR_NOT_FOUND: self = .file(path: name, errno: ENOENT)
        case G_IO_ERROR_PERMISSION_DENIED: self = .file(path: name, errno: EACCES)
        case G_IO_ERROR_IS_DIRECTORY: self = .file(path: name, errno: EISDIR)
        default: self = .custom(id: name, message: message)
        }
    }
}
