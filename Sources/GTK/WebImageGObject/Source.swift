internal import CWebImageGObject
internal import CWebImageGTK
internal import WebImage
internal import WebImageGTK

/// What requests of C code load in place of a URI. All requests with it are copies of one, so that a stream is read once.
final class Source: Handle, Sendable {
    let request: Result<WebImageRequest, WebImageError>

    init(_ make: () throws(WebImageError) -> WebImageRequest) {
        request = Result { () throws(WebImageError) in try make() }
    }
}

@c @implementation
func webimage_bridge_source_new_file(_ file: OpaquePointer) -> OpaquePointer {
    Source { () throws(WebImageError) in try WebImageRequest(file: file) }.retainedHandle
}

@c @implementation
func webimage_bridge_source_new_bytes(_ bytes: OpaquePointer, _ id: UnsafePointer<CChar>?) -> OpaquePointer {
    Source { WebImageRequest(bytes: bytes, id: String(optional: id)) }.retainedHandle
}

@c @implementation
func webimage_bridge_source_new_stream(
    _ stream: UnsafeMutablePointer<GInputStream>, _ id: UnsafePointer<CChar>?
) -> OpaquePointer {
    Source { WebImageRequest(stream: stream, id: String(optional: id)) }.retainedHandle
}
