internal import FoundationEssentials
internal import WebImageCore

extension LoaderRequest {
    /// Returns why a read-only loader refuses the request; `nil` for requests that only read.
    ///
    /// - Parameter url: the URL in the error.
    func refusalToChange(_ url: URL) -> WebImageError? {
        guard ![.get, .head].contains(method) || body != nil else { return nil }
        return .invalidRequest(
            reason: .unsupportedMethod(method.rawValue, hasBody: body != nil && method.forbidsBody), url: url)
    }

    /// An HTTP method (RFC 9110, 9). Loaders that do not use HTTP support only ``get`` and ``head``.
    public struct Method: RawRepresentable, Sendable, Hashable {
        /// The name as it is sent. Case matters: `get` is not `GET`.
        public let rawValue: String

        /// Creates a method from its name; `nil` if that is not a token, and for `CONNECT`, which asks a proxy for a
        /// tunnel.
        public init?(rawValue: String) {
            guard RequestHeaders.isToken(rawValue), rawValue != "CONNECT" else { return nil }
            self.rawValue = rawValue
        }

        private init(known: String) { rawValue = known }

        /// Requests head and body.
        public static let get = Self(known: "GET")
        /// Requests only the head; such a load ends without any bytes.
        public static let head = Self(known: "HEAD")
        /// Lets the resource process the body.
        public static let post = Self(known: "POST")
        /// Replaces the resource with the body.
        public static let put = Self(known: "PUT")
        /// Modifies the resource as described by the body (RFC 5789).
        public static let patch = Self(known: "PATCH")
        /// Deletes the resource.
        public static let delete = Self(known: "DELETE")
        /// Requests the communication options of the resource.
        public static let options = Self(known: "OPTIONS")
        /// Returns the request as the server received it.
        public static let trace = Self(known: "TRACE")

        /// Whether the method changes nothing on the server (9.2.1).
        public var isSafe: Bool { [.get, .head, .options, .trace].contains(self) }

        /// Whether repeating the request has the same effect as sending it once (9.2.2), so that a failed request can
        /// be sent again.
        public var isIdempotent: Bool { isSafe || [.put, .delete].contains(self) }

        /// Whether a body has no meaning with the method.
        var forbidsBody: Bool { [.get, .head, .trace].contains(self) }

        /// Whether servers expect a body, even an empty one (8.6).
        var expectsBody: Bool { [.post, .put, .patch].contains(self) }
    }
}
