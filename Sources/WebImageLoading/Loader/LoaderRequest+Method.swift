internal import FoundationEssentials
internal import WebImageCore

extension LoaderRequest {
    /// Why a loader that only reads does nothing with it; `nil` for what asks to be read.
    ///
    /// - Parameter url: what errors call it.
    func refusalToChange(_ url: URL) -> WebImageError? {
        guard ![.get, .head].contains(method) || body != nil else { return nil }
        return .unsupportedMethod(method.rawValue, hasBody: body != nil && method.forbidsBody, url: url)
    }

    /// What a request wants done (RFC 9110, 9); loaders other than those for HTTP know ``get`` and ``head`` alone.
    public struct Method: RawRepresentable, Sendable, Hashable {
        /// As it goes over the wire. Case counts: `get` is another method than `GET`.
        public let rawValue: String

        /// Makes a method of its name; `nil` for one that is no token, and for `CONNECT`, which asks a proxy for a tunnel.
        public init?(rawValue: String) {
            guard RequestHeaders.isToken(rawValue), rawValue != "CONNECT" else { return nil }
            self.rawValue = rawValue
        }

        private init(known: String) { rawValue = known }

        /// Head and body.
        public static let get = Self(known: "GET")
        /// The head alone; such a load ends without any bytes.
        public static let head = Self(known: "HEAD")
        /// Lets the resource make something of the body.
        public static let post = Self(known: "POST")
        /// Puts the body in the resource's place.
        public static let put = Self(known: "PUT")
        /// Changes the resource as the body says (RFC 5789).
        public static let patch = Self(known: "PATCH")
        /// Removes the resource.
        public static let delete = Self(known: "DELETE")
        /// What can be done with the resource.
        public static let options = Self(known: "OPTIONS")
        /// What arrives at the server.
        public static let trace = Self(known: "TRACE")

        /// Whether it changes nothing on the server (9.2.1).
        public var isSafe: Bool { [.get, .head, .options, .trace].contains(self) }

        /// Whether doing it twice is as good as once (9.2.2), so that a request that failed can be sent again.
        public var isIdempotent: Bool { isSafe || [.put, .delete].contains(self) }

        /// Whether a body has no meaning with it.
        var forbidsBody: Bool { [.get, .head, .trace].contains(self) }

        /// Whether servers expect a body, though it be empty (8.6).
        var expectsBody: Bool { [.post, .put, .patch].contains(self) }
    }
}
