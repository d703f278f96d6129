import FoundationEssentials
import WebImageCore
import WebImageLoading

/// A fact that a ``TraceRecorder`` notes. ``description`` is its text.
enum TraceFact: Sendable {
    case memoryAnswered
    case memoryShown
    case diskRead(answerCount: Int, byteCount: Int?)
    case decided(HTTPCachePolicy.Decision, CachePolicy)
    case noDisk
    case answered(LoaderAnswer, conditions: [HTTPField])
    /// The last attempt is about to start.
    case triedAgain([LoadAttempt])
    case confirmed
    case unconfirmed
    case standsIn
    case stored(byteCount: Int)
    case notStored(HTTPCachePolicy.StorageObstacle)
    case keptDespite(HTTPCachePolicy.StorageObstacle)
    case errorStored(status: Int)
    case removed(status: Int)
    case variantRead(byteCount: Int)
    case decoded(PixelSize, ImageFormat?)
    case notDecoded(ImageInfo)
    case reused(from: PixelSize, to: PixelSize)
    case processed(String)
    case failed(WebImageError)
    case invalidated(count: Int)
}

extension TraceFact {
    static func decoded(_ image: Image) -> TraceFact { .decoded(image.pixels.size, image.format) }
}

extension TraceFact: CustomStringConvertible {
    var description: String {
        switch self {
        case .memoryAnswered: "the picture is in memory"
        case .memoryShown: "the picture in memory is shown until the server has answered"
        case .noDisk: "the disk cache has no part in it"
        case .diskRead(0, _): "nothing is stored"
        case .diskRead(let count, let byteCount):
            "\(byteCount.map { "\($0) bytes are" } ?? "something is") stored"
                + (count > 1 ? ", one of \(count) answers for this URL" : "")
        case .decided(let decision, let policy): "\(policy.rawValue): \(decision.words)"
        case .answered(let answer, let conditions): answer.words(conditions: conditions)
        case .triedAgain(let attempts): attempts.words
        case .confirmed: "the server has confirmed what is stored"
        case .unconfirmed:
            "the server has confirmed something else than what is stored: it is asked again for all of it"
        case .standsIn: "what is stored stands in for the server's answer"
        case .stored(let byteCount): "\(byteCount) bytes go to the disk cache"
        case .notStored(let obstacle): "not on disk: \(obstacle)"
        case .keptDespite(let obstacle): "on disk only for requests that do not go by HTTP: \(obstacle)"
        case .errorStored(let status): "status \(status) is kept as the answer, as long as it is fresh"
        case .removed(let status): "status \(status): what was stored goes"
        case .decoded(let size, let format): "\(size)\(format.map { " \($0.name)" } ?? "")"
        case .variantRead(let byteCount): "the very picture is stored, \(byteCount) bytes"
        case .notDecoded(let info): "left undecoded: \(info.size) \(info.format.name)"
        case .reused(let larger, let size): "\(size), made of the \(larger) that memory has"
        case .processed(let identifier): identifier
        case .failed(let error): error.description
        case .invalidated(let count):
            count == 1
                ? "what was stored for the URL is out of date" : "what was stored for \(count) URLs is out of date"
        }
    }
}

extension HTTPCachePolicy.Decision {
    fileprivate var words: String {
        switch self {
        case .serve(_, let reason): "answered from the cache: \(reason)"
        case .serveAndRevalidate(_, let question, let reason):
            "shown from the cache while the server is asked: \(reason)\(question.words)"
        case .revalidate(_, let question, let reason): "the server is asked: \(reason)\(question.words)"
        case .load(let reason): "loaded: \(reason)"
        case .fail(let reason): "no server may be asked: \(reason)"
        }
    }
}

extension HTTPCachePolicy.Revalidation {
    fileprivate var words: String {
        conditions.isEmpty ? "; without anything to ask by, for all of it" : ""
    }
}

extension LoaderAnswer {
    fileprivate func words(conditions: [HTTPField]) -> String {
        var words =
            conditions.isEmpty
            ? "" : "asked with " + conditions.map { "\($0.name): \($0.value)" }.joined(separator: ", ") + "; "
        switch body {
        case .success(let data):
            words += head?.statusCode.map { "status \($0), \(data.count) bytes" } ?? "\(data.count) bytes"
        // Error descriptions are complete sentences, and nothing more is known about a connection that failed.
        case .failure(let error): return words + error.description
        }
        guard let exchange = metrics?.exchanges.last else { return words }
        if let redirectCount = metrics?.redirectCount, redirectCount > 0 {
            words += redirectCount == 1 ? ", after a redirect" : ", after \(redirectCount) redirects"
        }
        if let version = exchange.httpVersion { words += ", \(version.rawValue)" }
        return words + (exchange.isConnectionReused ? ", on a connection that was there" : ", on a new connection")
    }
}

extension [LoadAttempt] {
    /// Why there is another attempt, and what it has waited for.
    fileprivate var words: String {
        guard let last else { return "" }
        let failed = dropLast().last
        var words = "attempt \(last.number)"
        if let failed, failed.url != last.url { words += " at \(last.url.absoluteString)" }
        switch last.wait {
        case .none: break
        case .backoff(let duration): words += " after a wait of \(duration.words)"
        case .retryAfter(let duration):
            words += " after a wait of \(duration.words), as the server wants it (Retry-After)"
        case .connectivity: words += " after a wait for a network"
        }
        if let failed, let error = failed.error { words += "; attempt \(failed.number): \(error)" }
        return words
    }
}

extension Duration {
    /// With two decimal places.
    fileprivate var words: String {
        let hundredths = Int((inExactSeconds * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) s"
    }
}
