import FoundationEssentials
import WebImageGTK

/// The content of the caches for a URL.
struct CacheEntry: Sendable {
    let key: ImageCacheKey
    /// The bytes of the decoded image in memory; `nil` if it is not there.
    var memoryCost: Int?
    /// The entry of the original bytes on disk.
    var original: DiskCache.Entry?
    /// The bytes of the pixels on disk; `nil` if there are none.
    var pixelByteCount: Int?
    var diskPath: String?

    /// Reads what is known without counting as a use.
    ///
    /// - Parameter key: of the image as it was loaded.
    @MainActor init(for key: ImageCacheKey, in cache: ImageCache) async {
        self.key = key
        memoryCost = cache.memory.peek(key)?.memoryCost
        original = await cache.disk?.entry(for: key.original.description)
        if key.variant != nil { pixelByteCount = await cache.pixelEntry(for: key)?.byteCount }
        diskPath = cache.disk?.configuration.directory.path(percentEncoded: false)
    }

    init(key: ImageCacheKey) { self.key = key }

    /// The response that was stored with the bytes.
    var response: CachedResponse? { original?.response }

    func group(now: Date) -> FactGroup {
        var facts = [
            Fact(
                localized("In memory"),
                memoryCost.map { localized("{size} (pixels)", ["size": Amount.bytes($0)]) } ?? localized("No"))
        ]
        guard let original else {
            facts.append(
                Fact(localized("On disk"), diskPath == nil ? localized("There is no disk cache") : localized("No")))
            return FactGroup(title: localized("Cache entry"), facts: facts + keyFacts)
        }
        facts.append(
            Fact(localized("On disk"), localized("{size} (original file)", ["size": Amount.bytes(original.byteCount)])))
        if let pixelByteCount { facts.append(Fact(localized("Pixels on disk"), Amount.bytes(pixelByteCount))) }
        facts.append(Fact(localized("Stored"), DateText.text(original.created, now: now)))
        if original.modified.timeIntervalSince(original.created) > 1 {
            facts.append(Fact(localized("Confirmed"), DateText.text(original.modified, now: now)))
        }
        facts.append(Fact(localized("Last used"), DateText.text(original.lastAccess, now: now)))
        facts.append(
            Fact(localized("Expires"), original.expires.map { DateText.text($0, now: now) } ?? localized("No date")))
        if let response { facts += Self.facts(of: response, now: now) }
        return FactGroup(title: localized("Cache entry"), facts: facts + keyFacts)
    }

    private var keyFacts: [Fact] {
        [Fact(localized("Key"), URL(string: key.source)?.displayText ?? key.source)]
            + (key.variant.map { [Fact(localized("Variant"), $0)] } ?? [])
    }

    /// Returns how long HTTP allows the use of a stored response, and how it is revalidated.
    static func facts(of response: CachedResponse, now: Date) -> [Fact] {
        let (source, rest) = (response.lifetimeSource, response.freshUntil.timeIntervalSince(now))
        var text: String
        if response.isInvalidated {
            text = localized("It may have changed, so it is revalidated before its next use")
        } else if !response.isReusable {
            text = localized("HTTP does not allow its reuse")
        } else if response.isFresh(at: now) {
            text = localized(
                "Fresh for another {time} ({source})", ["time": Amount.longDuration(rest), "source": source.words])
        } else if source == .none {
            text = localized("The server sets no lifetime")
        } else {
            text = localized(
                "Stale for {time} ({source})", ["time": Amount.longDuration(-rest), "source": source.words])
        }
        var facts = [Fact(localized("Freshness"), text)]
        var validators = response.entityTag.map { ["ETag \($0)"] } ?? []
        if let date = response.lastModified {
            validators.append(localized("last modified {date}", ["date": DateText.text(date)]))
        }
        facts.append(
            Fact(
                localized("Validators"),
                validators.isEmpty
                    ? localized("None; the whole file is loaded again") : validators.joined(separator: ", ")))
        let varying = response.varyingFieldNames
        if !varying.isEmpty { facts.append(Fact(localized("Varies by"), varying.joined(separator: ", "))) }
        if let url = response.finalURL { facts.append(Fact(localized("Redirected to"), url)) }
        return facts
    }

    /// The head of the stored response; `nil` for bytes without one.
    var headers: FactGroup? {
        guard let response else { return nil }
        var group = LoadFacts.headers(localized("Stored response"), response.headers)
        group.description = localized(
            "Status {status}, {description}", ["status": response.statusCode, "description": group.description])
        return group
    }
}

extension CachedResponse.LifetimeSource {
    fileprivate var words: String {
        switch self {
        case .maxAge: "max-age"
        case .expires: "Expires"
        case .heuristic: localized("a tenth of its age when it was received")
        case .redirect: localized("the lifetime of a redirect")
        case .none: localized("no lifetime")
        }
    }
}
