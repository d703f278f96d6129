import FoundationEssentials
import WebImageCaching
import WebImageCoding
import WebImageCore
import WebImageLoading

/// The properties that few requests set. Copies of a request share them in one object, so that a request stays small.
///
/// Setting a property creates a new object. The properties are documented in ``WebImageRequest``.
struct RequestDetails: Sendable {
    var method = LoaderRequest.Method.get
    var body: Data?
    var headers: [String: String] = [:]
    var harmlessHeaders: HarmlessHeaders?
    var credential: Credential?
    var handlesCookies = false
    var usesCredentialStorage = false
    var allowsInvalidCertificates = false
    var respectsBlockList = false
    var transformsAnimations: Bool?
    var transformsVectors: Bool?
    /// Whether another origin's URL led to this one; see ``LoaderRequest/isForAnotherOrigin``.
    var isForAnotherOrigin = false
    var idleTimeout: Duration?
    var totalTimeout: Duration?
    var retryPolicy: (any RetryStrategy)?
    var alternatives: [URL] = []
    var waitsForConnectivity = false
    var lowResolutionURL: URL?
    var lowDataURL: URL?
    var provider: RequestProvider?

    var cache: (any ImageCaching)?
    var originalCache: (any ImageCaching)?
    var loaders: ImageLoaderGroup?
    var codecs: CodecRegistry?
    var cacheAccess = CacheAccess.memory
    var originalCacheAccess = CacheAccess.disk
    var cacheKeyFilter: (@Sendable (URL) -> String)?
    var serializer: (@Sendable (_ image: Image, _ data: Data?, _ key: ImageCacheKey) -> Data?)?

    var decodingLimits: DecodingLimits?
    var decodedByteLimit: Int?
    var page: Int?
    var allowsDamage: Bool?
    var keepsColors = false

    var callbackQueue: (any CallbackQueue)?
    var userInfo: [String: any Sendable] = [:]

    static let standard = RequestDetails()

    /// Whether the server is asked for something else than the file of the URL: by another method than GET or HEAD, or with a body.
    var asksForOther: Bool { method != .get && method != .head || body != nil }

    /// Whether caches neither answer the request nor store its response: it is for a part of a file (`Range`), or its method and body ask
    /// for something that it names no key for.
    var bypassesCaches: Bool {
        asksForOther && cacheKeyFilter == nil || headers.keys.contains { $0.lowercased() == "range" }
    }

    /// The kinds of images that processors leave unchanged.
    var untouched: UntouchedKinds {
        var kinds: UntouchedKinds = []
        if transformsAnimations == false { kinds.insert(.animations) }
        if transformsVectors == false { kinds.insert(.vectors) }
        return kinds
    }

    /// The shared object.
    final class Box: Sendable {
        let details: RequestDetails
        init(_ details: RequestDetails) { self.details = details }
    }
}

/// The kinds of images that processors leave unchanged.
struct UntouchedKinds: OptionSet, Sendable, Hashable {
    let rawValue: Int

    static let animations = UntouchedKinds(rawValue: 1)
    static let vectors = UntouchedKinds(rawValue: 2)

    /// The part of a cache key for processors that may not have run; `nil` if all run.
    var keyPart: String? {
        var names: [String] = []
        if contains(.animations) { names.append("animations") }
        if contains(.vectors) { names.append("vectors") }
        return names.isEmpty ? nil : "untouched=\(names.joined(separator: ","))"
    }

    func contains(_ image: Image) -> Bool {
        contains(.animations) && image.animation != nil
            || contains(.vectors) && image.format?.isVector == true
    }
}

extension ImageFormat {
    /// Whether this is a vector format.
    var isVector: Bool { ["image/svg+xml", "application/pdf"].contains(mimeType) }
}
