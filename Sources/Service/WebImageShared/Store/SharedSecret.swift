internal import FoundationEssentials

/// A secret of all machines that share a cache. With it, each object has an HMAC-SHA256 (RFC 2104), so that an object which
/// another program wrote, changed or renamed is a miss. The secret appears in no description and no log.
///
/// ```swift
/// let location = try S3Location("s3://bucket/prefix?endpoint=https://store.internal:9000")
/// var configuration = SharedImageCache.Configuration(location: location)
/// configuration.secret = SharedSecret("4f1c…")      // for example from `openssl rand -hex 32`
/// ```
public struct SharedSecret: Sendable, CustomStringConvertible, CustomReflectable {
    let bytes: [UInt8]

    /// Creates a secret from the UTF-8 bytes of a text, which should have at least 32 random characters; `nil` for an empty
    /// one.
    public init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        bytes = Array(text.utf8)
    }

    /// Reads `WEBIMAGE_SHARED_SECRET`; `nil` if it is unset or empty.
    public static var environment: SharedSecret? { from(ProcessInfo.processInfo.environment) }

    static func from(_ environment: [String: String]) -> SharedSecret? {
        environment["WEBIMAGE_SHARED_SECRET"].flatMap { SharedSecret($0) }
    }

    /// Hides the secret.
    public var description: String { "hidden secret" }
    /// Empty, so that `dump` shows no secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
