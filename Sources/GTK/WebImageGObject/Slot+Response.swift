internal import CWebImageGObject
internal import CWebImageGTK
internal import FoundationEssentials
internal import GTKObjects
internal import WebImage
internal import WebImageGTK

/// What came with the image on display, or with a failure.
extension Slot {
    /// Calls `body` with the response for C code, unless there is none.
    func withResponse(_ body: (UnsafePointer<WebImageBridgeResponse>) -> Void) {
        if let response {
            let head = response.head
            withBridged(
                head?.statusCode, WebImageOrigin(response.origin), head?.url ?? response.url,
                head?.headerValue("Content-Type"), body)
        } else if let error {
            withBridged(error.statusCode, WEB_IMAGE_ORIGIN_NONE, error.url, error.contentType, body)
        }
    }

    private func withBridged(
        _ status: Int?, _ origin: WebImageOrigin, _ url: URL?, _ contentType: String?,
        _ body: (UnsafePointer<WebImageBridgeResponse>) -> Void
    ) {
        withOptionalCString(url?.absoluteString) { uri in
            withOptionalCString(contentType) { type in
                var response = WebImageBridgeResponse(
                    http_status: CInt(status ?? 0), origin: origin, final_uri: uri, content_type: type)
                body(&response)
            }
        }
    }
}

extension WebImageOrigin {
    fileprivate init(_ origin: ImageOrigin) {
        self =
            switch origin {
            case .memoryCacheFast, .memoryCache: WEB_IMAGE_ORIGIN_MEMORY
            case .diskCache: WEB_IMAGE_ORIGIN_DISK
            case .remote: WEB_IMAGE_ORIGIN_SOURCE
            }
    }
}

@c @implementation
func webimage_bridge_slot_get_response(
    _ slot: OpaquePointer, _ responded: @escaping WebImageBridgeResponded, _ data: gpointer?
) {
    onMainThread((slot, responded, data)) { slot, responded, data in
        Slot.of(slot).withResponse { responded(data, $0) }
    }
}
