package import FoundationEssentials

/// The directives of a Cache-Control field (RFC 9111, 5.2), of a request or of an answer.
///
/// Names are read in any case, arguments with or without quotation marks. Unknown directives are passed over. Of a
/// directive that comes twice the first counts (4.2.1).
package struct CacheControl: Sendable, Equatable {
    /// Argument by lower-case name; `nil` for a directive without one.
    private let directives: [String: String?]

    package init(_ fields: [HTTPField]) {
        var directives: [String: String?] = [:]
        for element in fields.elements(ofFieldNamed: "Cache-Control") {
            let parts = element.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0]).trimmingHTTPSpace.lowercased()
            guard !name.isEmpty, directives[name] == nil else { continue }
            directives[name] = .some(parts.count == 2 ? Self.unquoted(String(parts[1]).trimmingHTTPSpace) : nil)
        }
        self.directives = directives
    }

    /// Whether there is no directive at all.
    package var isEmpty: Bool { directives.isEmpty }

    /// Whether the directive is there, with or without an argument.
    package func has(_ directive: Directive) -> Bool { directives[directive.rawValue] != nil }

    /// The field names that a `no-cache` or `private` is restricted to; empty where it is meant for all of the answer.
    package func fieldNames(of directive: Directive) -> [String] {
        guard case .some(.some(let argument)) = directives[directive.rawValue] else { return [] }
        return argument.listElements.map { $0.lowercased() }
    }

    /// The number of seconds of a directive.
    package func seconds(_ directive: Directive) -> DeltaSeconds? {
        guard let argument = directives[directive.rawValue] else { return nil }
        return argument.map(DeltaSeconds.init) ?? .missing
    }

    package enum Directive: String, Sendable {
        case maxAge = "max-age"
        case sharedMaxAge = "s-maxage"
        case noCache = "no-cache"
        case noStore = "no-store"
        case mustRevalidate = "must-revalidate"
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
    package enum DeltaSeconds: Sendable, Equatable {
        case seconds(Double)
        /// It should be there, and is not.
        case missing
        /// It is no number: what depends on it counts as stale.
        case invalid

        package init(_ text: String) {
            guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
                self = .invalid
                return
            }
            // As large as anybody needs, and what the standard asks for when a number is too large.
            self = .seconds(Double(Int32(text) ?? .max))
        }

        /// The number, if it is one.
        package var value: Double? {
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

/// How old a stored answer is, and how old it may become (RFC 9111, 4.2); all times in seconds.
package struct Freshness: Sendable, Equatable {
    /// How long it is fresh from the moment the server made it; 0 for one that is stale from the beginning.
    package let lifetime: Double
    /// Where the lifetime comes from.
    package let source: Source
    /// How long ago the server made it, as far as can be told.
    package let age: Double
    /// Whether the clock stands before the moment the answer came in: its age can't be told, and it counts as stale.
    package let clockWentBack: Bool

    package enum Source: String, Sendable {
        case maxAge = "max-age"
        case expires = "Expires"
        /// A tenth of the time since its last change.
        case heuristic
        /// A redirect on the way to it, which is good for a shorter time than the answer itself.
        case redirect
        /// The server says nothing that could tell.
        case none
    }

    package init(of response: StoredResponse, now: Date) {
        let ownLifetime = Self.lifetime(of: response)
        let initialAge = Self.initialAge(of: response)
        // Redirects count from the moment they were followed.
        let redirectLifetime = response.redirectLifetime.map { $0 + initialAge } ?? .infinity
        (lifetime, source) = redirectLifetime < ownLifetime.0 ? (redirectLifetime, .redirect) : ownLifetime
        let residentTime = now.timeIntervalSince(response.responseTime)
        clockWentBack = residentTime < -Self.clockTolerance
        age = initialAge + max(0, residentTime)
    }

    /// How far the clock may stand before that moment, in seconds: a second or so may be lost where clocks are kept in step
    /// with others.
    static let clockTolerance = 2.0

    /// Whether it may be used without asking the server.
    package var isFresh: Bool { lifetime > age && !clockWentBack }

    /// For how long it has been stale; negative while it is fresh.
    package var staleness: Double { age - lifetime }

    /// 4.2.1: what a private cache goes by; `s-maxage` is for others.
    private static func lifetime(of response: StoredResponse) -> (Double, Source) {
        if let maxAge = response.cacheControl.seconds(.maxAge) { return (maxAge.value ?? 0, .maxAge) }
        if let expires = response.headers.values(named: "Expires").first {
            // What is no date, such as 0, means that it has expired (5.3).
            guard let date = HTTPDate.parse(expires, now: response.responseTime) else { return (0, .expires) }
            return (max(0, date.timeIntervalSince(response.date)), .expires)
        }
        guard let lastModified = response.lastModified, allowsHeuristics(response) else { return (0, .none) }
        return (max(0, response.date.timeIntervalSince(lastModified)) * heuristicFraction, .heuristic)
    }

    /// 4.2.2: for statuses that say so, and answers marked as public.
    private static func allowsHeuristics(_ response: StoredResponse) -> Bool {
        HTTPCachePolicy.heuristicallyCacheableStatuses.contains(response.statusCode)
            || response.cacheControl.has(.isPublic)
    }

    /// A typical setting, says the standard.
    private static let heuristicFraction = 0.1

    /// 4.2.3: its age when it came in, by its Age field or by the server's clock, whichever makes it older.
    private static func initialAge(of response: StoredResponse) -> Double {
        let apparentAge = max(0, response.responseTime.timeIntervalSince(response.date))
        let delay = max(0, response.responseTime.timeIntervalSince(response.requestTime))
        return max(apparentAge, ageField(of: response) + delay)
    }

    /// 5.1: of several values the first counts, and what is no number is ignored.
    private static func ageField(of response: StoredResponse) -> Double {
        guard let text = response.headers.elements(ofFieldNamed: "Age").first else { return 0 }
        return CacheControl.DeltaSeconds(text).value ?? 0
    }
}
