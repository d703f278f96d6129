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
