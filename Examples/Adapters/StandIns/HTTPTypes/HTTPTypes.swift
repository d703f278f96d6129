// Stands in for swift-http-types 1.6.0: the declarations that adapters use.

// The frameworks document their declarations.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public struct HTTPField: Sendable, Hashable {
    public struct Name: Sendable, Hashable {
        public let rawName: String

        public init?(_ name: String) {
            guard !name.isEmpty, name.utf8.allSatisfy({ $0 > 32 && $0 < 127 && $0 != 58 }) else { return nil }
            rawName = name
        }

        private init(known: String) { rawName = known }

        public static let accept = Self(known: "Accept")
        public static let contentEncoding = Self(known: "Content-Encoding")
        public static let contentLength = Self(known: "Content-Length")
        public static let contentType = Self(known: "Content-Type")

        public static func == (first: Self, second: Self) -> Bool {
            first.rawName.lowercased() == second.rawName.lowercased()
        }

        public func hash(into hasher: inout Hasher) { hasher.combine(rawName.lowercased()) }
    }

    public var name: Name
    public var value: String

    public init(name: Name, value: String) { (self.name, self.value) = (name, value) }

    public static func isValidValue(_ value: String) -> Bool {
        !value.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 }
    }
}

public struct HTTPFields: Sendable, Hashable, RandomAccessCollection, RangeReplaceableCollection {
    private var fields: [HTTPField] = []

    public init() {}

    public subscript(name: HTTPField.Name) -> String? {
        get {
            let values = fields.filter { $0.name == name }.map(\.value)
            return values.isEmpty ? nil : values.joined(separator: ", ")
        }
        set {
            fields.removeAll { $0.name == name }
            if let newValue { fields.append(HTTPField(name: name, value: newValue)) }
        }
    }

    public var startIndex: Int { fields.startIndex }
    public var endIndex: Int { fields.endIndex }
    public subscript(position: Int) -> HTTPField { fields[position] }

    public mutating func replaceSubrange(_ range: Range<Int>, with new: some Collection<HTTPField>) {
        fields.replaceSubrange(range, with: new)
    }
}

public struct HTTPRequest: Sendable, Hashable {
    public struct Method: Sendable, Hashable {
        public let rawValue: String

        public init?(_ method: String) { rawValue = method }

        private init(known: String) { rawValue = known }

        public static let get = Self(known: "GET")
        public static let post = Self(known: "POST")
    }

    public var method: Method
    public var scheme: String?
    public var authority: String?
    public var path: String?
    public var headerFields: HTTPFields

    public init(
        method: Method, scheme: String?, authority: String?, path: String?, headerFields: HTTPFields = HTTPFields()
    ) {
        (self.method, self.scheme, self.authority) = (method, scheme, authority)
        (self.path, self.headerFields) = (path, headerFields)
    }
}

public struct HTTPResponse: Sendable, Hashable {
    public struct Status: Sendable, Hashable {
        public let code: Int

        public init(code: Int, reasonPhrase: String = "") { self.code = code }

        public static let ok = Self(code: 200)
        public static let badRequest = Self(code: 400)
        public static let forbidden = Self(code: 403)
        public static let notFound = Self(code: 404)
        public static let contentTooLarge = Self(code: 413)
        public static let unsupportedMediaType = Self(code: 415)
        public static let unprocessableContent = Self(code: 422)
        public static let internalServerError = Self(code: 500)
        public static let notImplemented = Self(code: 501)
        public static let badGateway = Self(code: 502)
        public static let serviceUnavailable = Self(code: 503)
        public static let gatewayTimeout = Self(code: 504)
    }

    public var status: Status
    public var headerFields: HTTPFields

    public init(status: Status, headerFields: HTTPFields = HTTPFields()) {
        (self.status, self.headerFields) = (status, headerFields)
    }
}
