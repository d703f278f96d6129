internal import CWebImageGObject
internal import CWebImageGTK
internal import WebImage

/// A C function that gets a result on any thread, and its data.
///
/// Unchecked, because the data belongs to that function alone, and is not used here.
struct Receiver: @unchecked Sendable {
    let done: WebImageBridgeDone
    let data: gpointer?

    /// Passes a value that the function owns.
    func receive(_ value: gpointer?) { done(data, value, nil) }

    func receive(_ value: OpaquePointer?) { receive(value.map { UnsafeMutableRawPointer($0) }) }

    func receive(_ error: WebImageError) { error.withBridged { done(data, nil, $0) } }
}

extension WebImageError {
    /// Calls `body` with the error for C code.
    func withBridged(_ body: (UnsafePointer<WebImageBridgeError>) -> Void) {
        message.withCString { message in
            withOptionalCString(url?.absoluteString) { uri in
                withOptionalCString(contentType) { type in
                    var error = WebImageBridgeError(
                        code: CInt(code), message: message, http_status: CInt(statusCode ?? 0), uri: uri,
                        content_type: type)
                    body(&error)
                }
            }
        }
    }

    /// The status that the server has refused with.
    var statusCode: Int? { if case .httpStatus(let code, _) = self { code } else { nil } }

    /// The type that the server has declared for a file that is not an image.
    var contentType: String? {
        switch self {
        case .unrecognizedFormat(let contentType, _, _): contentType
        case .invalidResponse(.contentType(let contentType), _): contentType
        default: nil
        }
    }
}

/// Calls `body` with a text for C code; NULL for `nil`.
func withOptionalCString<Result>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
    guard let text else { return body(nil) }
    return text.withCString(body)
}
