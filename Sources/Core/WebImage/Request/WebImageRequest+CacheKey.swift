import FoundationEssentials
import WebImageCaching
import WebImageCore
import WebImageLoading
import WebImageProcessing

extension WebImageRequest {
    /// The key of the image in memory. Its ``ImageCacheKey/original`` is the key of the bytes on disk.
    ///
    /// ``WebImageManager/cacheKey(for:)`` includes what the manager's
    /// ``WebImageManager/Configuration/optionsProcessor`` changes.
    public var cacheKey: ImageCacheKey {
        guard box == nil, let key = address.key else {
            return ImageCacheKey(source: source, variant: variant)
        }
        return variant.map { ImageCacheKey(source: key.source, variant: $0) } ?? key
    }

    private var source: String {
        var text = address.text
        var credential: Credential?
        var filter: (@Sendable (URL) -> String)?
        if !hasStandardDetails {
            let details = details
            (credential, filter) = (details.credential, details.cacheKeyFilter)
        }
        if text.utf8.contains(UInt8(ascii: "@")) {
            let (bare, own) = url.separatedFromUserInfo
            text = filter.map { Self.escaped($0(bare)) } ?? bare.withoutFragment(bare.absoluteString)
            credential = credential ?? own
        } else if let filter {
            text = Self.escaped(filter(url))
        } else if text.utf8.contains(UInt8(ascii: "#")) {
            text = url.withoutFragment(text)
        }
        if text.utf8.count > Self.longestAddress {
            text = "\(text.prefix(64))…|sha256=\(SHA256.hexDigest(of: Array(text.utf8)))"
        }
        if let digest = credentialDigest(credential) {
            text += "|credentials=\(digest)"
        }
        if let details = box?.details {
            if details.usesCredentialStorage { text += "|credentials=stored" }
            if details.handlesCookies { text += "|cookies=jar" }
            if details.allowsInvalidCertificates { text += "|certificates=any" }
            if details.asksForOther {
                text += "|method=\(details.method.name)"
                if let body = details.body { text += "|body=\(SHA256.hexDigest(of: Array(body)))" }
            }
        }
        return text
    }

    /// Escapes the text of a filter, to keep it apart from what is added after a `|`.
    private static func escaped(_ text: String) -> String {
        let (mark, escape) = (UInt8(ascii: "|"), UInt8(ascii: "\\"))
        guard text.utf8.contains(where: { $0 == mark || $0 == escape }) else { return text }
        return String(
            decoding: text.utf8.flatMap { $0 == mark || $0 == escape ? [escape, $0] : [$0] }, as: UTF8.self)
    }

    /// Returns a digest of the credential and of every header that may be one; `nil` if there are none.
    private func credentialDigest(_ credential: Credential?) -> String? {
        var secrets =
            separatingHeaders
            .map { (name: $0.key.lowercased(), value: $0.value) }
            .sorted { ($0.name, $0.value) < ($1.name, $1.value) }
        if let credential { secrets.append((name: "credential", value: secretText(of: credential))) }
        guard !secrets.isEmpty else { return nil }
        // The lengths separate the fields, so that different headers never give the same text.
        let text = secrets.map { "\($0.name):\($0.value.utf8.count):\($0.value)" }.joined(separator: "\n")
        return SHA256.hexDigest(of: Array(text.utf8))
    }

    /// The header fields that are part of the cache key, because they may be credentials.
    var separatingHeaders: [String: String] {
        guard let details = box?.details, !details.headers.isEmpty else { return [:] }
        let harmless = details.harmlessHeaders ?? .standard
        return details.headers.filter { !harmless.contains($0.key) }
    }

    /// In bytes. At least what servers and proxies are asked to support (8000, RFC 9110 §4.1), so that a server's
    /// images keep their URL as the key.
    static let longestAddress = 8000

    private var variant: String? {
        guard !options.contains(.ignoreDecoding) else { return nil }
        // Built without interpolation, which takes twice as long. Views need it on the main thread.
        var text = ""
        func add(_ part: String) {
            if !text.isEmpty { text += "&" }
            text += part
        }
        if let thumbnail, thumbnail.isBounded {
            text.reserveCapacity(48)
            add("thumbnail=")
            text += String(thumbnail.size.width)
            text += "x"
            text += String(thumbnail.size.height)
            text += ","
            text += thumbnail.mode.name
        }
        let scale = resolvedScale
        if scale != 1 { add("scale=\(scale)") }
        if let limit = pixelByteLimit { add("bytes=\(limit)") }
        if let page { add("page=\(page)") }
        if keepsColors { add("colors=kept") }
        if !processors.isEmpty {
            let identifier = ProcessorChain(processors).identifier
            if identifier != .identity { add("processors=\(identifier)") }
            if let untouched = details.untouched.keyPart { add(untouched) }
        }
        // Last, as in the cache, so that the first frame that the cache stores of an animation has the same key.
        if options.contains(.firstFrameOnly) {
            add(ImageCacheKey.firstFrameMark)
        } else if options.contains(.preloadAllFrames) {
            add("frames=decoded")
        }
        return text.isEmpty ? nil : text
    }

    /// Whether the cache key decides alone which image in memory is the result, as for most requests. A hit then needs
    /// no ``LoadContext``.
    var isFoundByKey: Bool {
        box == nil && cachePolicy == .cacheFirst
            && options.isDisjoint(with: [
                .ignoreDecoding, .firstFrameOnly, .matchAnimatedKind, .queryDiskSync, .queryMemoryData, .waitForStore,
            ])
    }

    /// Whether it is for all pixels of the original, unprocessed. The scale may differ.
    var needsWholeImage: Bool {
        thumbnail?.isBounded != true && pixelByteLimit == nil && page == nil && !keepsColors
            && !options.contains(.firstFrameOnly)
            && (processors.isEmpty || ProcessorChain(processors).identifier == .identity)
    }

    /// ``decodedByteLimit``, without a copy of all details.
    var pixelByteLimit: Int? { box?.details.decodedByteLimit }
}

extension ImageCacheKey {
    /// The cache's name for the first frame of an animation.
    static let firstFrameMark = "first-frame"

    /// The key of the image with all its frames, for the key of its first frame.
    var withAllFrames: ImageCacheKey {
        guard let variant, variant.hasSuffix(Self.firstFrameMark) else { return self }
        let rest = variant.dropLast(Self.firstFrameMark.count)
        return ImageCacheKey(source: source, variant: rest.isEmpty ? nil : String(rest.dropLast()))
    }
}

extension ResizeMode {
    /// The name in cache keys.
    fileprivate var name: String {
        switch self {
        case .aspectFit: "aspectFit"
        case .aspectFill: "aspectFill"
        case .stretch: "stretch"
        }
    }
}
