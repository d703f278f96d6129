public import FoundationEssentials
internal import Glibc
internal import SystemText
public import WebImageCore
internal import WebImageLoading

/// A place in an S3 store: a bucket, and a prefix for all keys in it.
///
///     s3://bucket/prefix?endpoint=https://store.example:9000&region=eu-1&style=path
///
/// Without an endpoint it is Amazon's for the region. `style` is `path` (`https://endpoint/bucket/key`, the default with an
/// endpoint) or `host` (`https://bucket.endpoint/key`, the default for Amazon).
public struct S3Location: Sendable, Hashable, CustomStringConvertible {
    /// How the bucket is part of URLs.
    public enum Style: String, Sendable, Hashable, CaseIterable {
        /// `https://endpoint/bucket/key`.
        case path
        /// `https://bucket.endpoint/key`.
        case host
    }

    /// The bucket's name.
    public var bucket: String
    /// The beginning of all keys, without slashes at its ends; empty for none.
    public var prefix: String
    /// The scheme, host and port of the store.
    public var endpoint: URL
    /// The region for signatures.
    public var region: String
    /// How the bucket is part of URLs.
    public var style: Style

    /// Creates a location from `s3://bucket/prefix?endpoint=…&region=…&style=…`.
    ///
    /// - Parameters:
    ///   - text: the location. Missing parts come from the environment: `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, `AWS_REGION`,
    ///     `AWS_DEFAULT_REGION`; the region is `us-east-1` otherwise.
    /// - Throws: ``WebImage/WebImageError/invalidURL(_:reason:)``. Keys in the text are refused.
    public init(_ text: String) throws(WebImageError) {
        try self.init(text, environment: ProcessInfo.processInfo.environment)
    }

    init(_ text: String, environment: [String: String]) throws(WebImageError) {
        guard let components = URLComponents(string: text), components.scheme?.lowercased() == "s3",
            components.user == nil, components.password == nil, components.port == nil, components.fragment == nil,
            let bucket = components.host, Self.isBucket(bucket)
        else { throw .invalidURL(Self.withoutSecrets(text)) }
        let items = Dictionary(
            (components.queryItems ?? []).map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { $1 })
        guard Set(items.keys).isSubset(of: ["endpoint", "region", "style"]) else {
            throw .invalidURL(Self.withoutSecrets(text))
        }
        let region = items["region"] ?? environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"] ?? "us-east-1"
        let given = items["endpoint"] ?? environment["AWS_ENDPOINT_URL_S3"] ?? environment["AWS_ENDPOINT_URL"]
        let styleName = items["style"] ?? (given == nil ? "host" : "path")
        guard let endpoint = URL(string: given ?? "https://s3.\(region).amazonaws.com"),
            ["http", "https"].contains(endpoint.scheme?.lowercased()), endpoint.host()?.isEmpty == false,
            endpoint.user() == nil, ["", "/"].contains(endpoint.path()), endpoint.query() == nil,
            let style = Style(rawValue: styleName), !region.isEmpty,
            region.utf8.allSatisfy(Self.isPlain)
        else { throw .invalidURL(Self.withoutSecrets(text)) }
        let prefix = components.path.split(separator: "/").joined(separator: "/")
        guard prefix.utf8.allSatisfy({ Self.isPlain($0) || $0 == UInt8(ascii: "/") }), prefix.utf8.count <= 512 else {
            throw .invalidURL(Self.withoutSecrets(text))
        }
        (self.bucket, self.prefix, self.endpoint, self.region, self.style) = (bucket, prefix, endpoint, region, style)
    }

    /// Whether no part of a URL or a signature encodes the character.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    private static func isBucket(_ name: String) -> Bool {
        (3...63).contains(name.utf8.count) && name.utf8.allSatisfy(isPlain) && !name.hasPrefix(".")
    }

    private static func withoutSecrets(_ text: String) -> String {
        guard let query = text.firstIndex(of: "?") else { return text.contains("@") ? "s3://…" : text }
        return text.contains("@") ? "s3://…" : String(text[..<query]) + "?…"
    }

    /// The URL of a key, or of the bucket for `nil`; `query` is in the canonical order of signatures.
    func url(_ key: String?, query: [(name: String, value: String)] = []) -> URL? {
        var text = (endpoint.scheme ?? "https") + "://"
        let host = endpoint.host().map { $0.contains(":") ? "[\($0)]" : $0 } ?? ""
        text += style == .host ? "\(bucket).\(host)" : host
        if let port = endpoint.port { text += ":\(port)" }
        text += style == .path ? "/" + bucket : ""
        if let key { text += "/" + objectKey(key) } else if style == .host { text += "/" }
        if !query.isEmpty {
            text +=
                "?"
                + query.sorted { $0.name < $1.name }.map { "\($0.name)=\($0.value.utf8.percentEncoded())" }
                .joined(separator: "&")
        }
        return URL(string: text)
    }

    /// The bucket and the prefix, without the endpoint.
    public var description: String { "s3://" + bucket + (prefix.isEmpty ? "" : "/" + prefix) }

    /// A key of the store, with the prefix.
    func objectKey(_ key: String) -> String { prefix.isEmpty ? key : prefix + "/" + key }
}

/// The keys of an account. They appear in no description and no log.
public struct S3Credential: Sendable, CustomStringConvertible, CustomReflectable {
    /// The access key's ID, which requests name.
    public let keyID: String
    let secret: String
    /// The token of temporary credentials; `nil` for lasting ones.
    public let sessionToken: String?

    /// Creates a credential; `sessionToken` is for temporary keys.
    public init(keyID: String, secret: String, sessionToken: String? = nil) {
        (self.keyID, self.secret, self.sessionToken) = (keyID, secret, sessionToken)
    }

    /// Reads `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`; `nil` without the first two.
    public static var environment: S3Credential? {
        let environment = ProcessInfo.processInfo.environment
        guard let id = environment["AWS_ACCESS_KEY_ID"], let secret = environment["AWS_SECRET_ACCESS_KEY"], !id.isEmpty
        else { return nil }
        return S3Credential(keyID: id, secret: secret, sessionToken: environment["AWS_SESSION_TOKEN"])
    }

    /// Hides the keys.
    public var description: String { "hidden keys" }
    /// Empty, so that `dump` shows no secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
