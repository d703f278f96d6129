package import FoundationEssentials

/// The directives of a Cache-Control field (RFC 9111, 5.2), of a request or of a response.
///
/// Case does not matter in names, and arguments may have quotation marks. Unknown directives are ignored. Of repeated
/// directives the first counts (4.2.1).
package struct CacheControl: Sendable {
    /// Arguments by name in lower case; `nil` for a directive without one.
    private let directives: [String: String?]

    package init(_ fields: [HTTPHeader]) {
        var directives: [String: String?] = [:]
        for element in fields.elements(ofFieldNamed: "Cache-Control") {
            let parts = element.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0]).trimmingHTTPSpace.lowercased()
            guard !name.isEmpty, directives[name] == nil else { continue }
            directives[name] = .some(parts.count == 2 ? Self.unquoted(String(parts[1]).trimmingHTTPSpace) : nil)
        }
        self.directives = directives
    }

    var isEmpty: Bool { directives.isEmpty }

    package func has(_ directive: Directive) -> Bool { directives[directive.rawValue] != nil }

    /// Returns the field names that a `no-cache` or `private` is restricted to; empty if it is for the whole response.
    package func fieldNames(of directive: Directive) -> [String] {
        guard case .some(.some(let argument)) = directives[directive.rawValue] else { return [] }
        return argument.listElements.map { $0.lowercased() }
    }

    /// Returns the number of seconds of a directive.
    func seconds(_ directive: Directive) -> DeltaSeconds? {
        guard let argument = directives[directive.rawValue] else { return nil }
        return argument.map(DeltaSeconds.init) ?? .missing
    }

    package enum Directive: String, Sendable {
        case maxAge = "max-age"
        case sharedMaxAge = "s-maxage"
        case noCache = "no-cache"
        case noStore = "no-store"
        case mustRevalidate = "must-revalidate"
        case proxyRevalidate = "proxy-revalidate"
        case mustUnderstand = "must-understand"
        case isPublic = "public"
        case isPrivate = "private"
        case immutable
        case staleWhileRevalidate = "stale-while-revalidate"
        case staleIfError = "stale-if-error"
        case maxStale = "max-stale"
        case minFresh = "min-fresh"
        case onlyIfCached = "only-if-cached"
    }

    /// A directive's time (RFC 9111, 1.2.2).
    enum DeltaSeconds: Sendable, Equatable {
        case seconds(Double)
        /// The number is missing.
        case missing
        /// It is no number: the response counts as stale.
        case invalid

        init(_ text: String) {
            // The standard's value for numbers that are too large.
            let limit = Int64(Int32.max)
            self = text[...].isDecimal ? .seconds(Double(min(text[...].decimalNumber ?? limit, limit))) : .invalid
        }

        var value: Double? {
            if case .seconds(let seconds) = self { seconds } else { nil }
        }
    }

    private static func unquoted(_ text: String) -> String {
        guard text.utf8.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return text }
        var result: [UInt8] = []
        var isEscaped = false
        for byte in text.utf8.dropFirst().dropLast() {
            if !isEscaped, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else {
                result.append(byte)
                isEscaped = false
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}

/// The age of a stored response, and the age up to which it is fresh (RFC 9111, 4.2). All times are in seconds.
package struct Freshness: Sendable, Equatable {
    /// The age up to which it is fresh; 0 for one that is stale from the beginning.
    let lifetime: Double
    package let source: CachedResponse.LifetimeSource
    /// The time since the server made it, as far as known.
    let age: Double
    /// Whether the clock is now before the time of the response. The age is then unknown, and the response counts as
    /// stale.
    let clockWentBack: Bool

    package init(of response: CachedResponse, now: Date) {
        let ownLifetime = Self.lifetime(of: response)
        let initialAge = Self.initialAge(of: response)
        // The lifetime of redirects counts from when they were followed.
        let redirectLifetime = response.redirectLifetime.map { $0 + initialAge } ?? .infinity
        (lifetime, source) = redirectLifetime < ownLifetime.0 ? (redirectLifetime, .redirect) : ownLifetime
        let residentTime = now.timeIntervalSince(response.responseTime)
        clockWentBack = residentTime < -Self.clockTolerance
        age = initialAge + max(0, residentTime)
    }

    /// How far the clock may be before the response, in seconds. Clock synchronization may set it back a little.
    static let clockTolerance = 2.0

    var isFresh: Bool { lifetime > age && !clockWentBack }

    /// The time since it became stale; negative while it is fresh.
    package var staleness: Double { age - lifetime }

    /// 4.2.1, for a private cache; `s-maxage` is for shared ones.
    private static func lifetime(of response: CachedResponse) -> (Double, CachedResponse.LifetimeSource) {
        if let maxAge = response.cacheControl.seconds(.maxAge) { return (maxAge.value ?? 0, .maxAge) }
        if let expires = response.headers.values(named: "Expires").first {
            // An invalid date, such as 0, means expired (5.3).
            guard let date = HTTPDate.parse(expires, now: response.responseTime) else { return (0, .expires) }
            return (max(0, date.timeIntervalSince(response.date)), .expires)
        }
        guard let lastModified = response.lastModified, allowsHeuristics(response) else { return (0, .none) }
        return (max(0, response.date.timeIntervalSince(lastModified)) * heuristicFraction, .heuristic)
    }

    /// 4.2.2: for statuses that allow it, and public responses.
    private static func allowsHeuristics(_ response: CachedResponse) -> Bool {
        HTTPCachePolicy.heuristicallyCacheableStatuses.contains(response.statusCode)
            || response.cacheControl.has(.isPublic)
    }

    /// The typical value according to the standard.
    private static let heuristicFraction = 0.1

    /// 4.2.3: the age when it was received, by its Age field or the server's clock, whichever is larger.
    private static func initialAge(of response: CachedResponse) -> Double {
        let apparentAge = max(0, response.responseTime.timeIntervalSince(response.date))
        let delay = max(0, response.responseTime.timeIntervalSince(response.requestTime))
        return max(apparentAge, ageField(of: response) + delay)
    }

    /// 5.1: of several values the first counts, and an invalid one is ignored.
    private static func ageField(of response: CachedResponse) -> Double {
        guard let text = response.headers.elements(ofFieldNamed: "Age").first else { return 0 }
        return CacheControl.DeltaSeconds(text).value ?? 0
    }
}
