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
        description.withCString { message in
            var error = WebImageBridgeError(code: CInt(code), message: message)
            body(&error)
        }
    }
}
