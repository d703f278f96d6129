import FoundationEssentials
import WebImageCore
import WebImageLoading

/// A fact that a ``TraceRecorder`` notes. ``description`` is its text.
///
/// Indirect, because every load keeps several, and most are much smaller than the largest.
indirect enum TraceFact: Sendable {
    case memoryAnswered(cache: String?)
    case memoryShown
    case diskRead(answerCount: Int, byteCount: Int?, cache: String?)
    case decided(HTTPCachePolicy.Decision, CachePolicy)
    case noDisk
    case answered(AnswerNote)
    case arrivedBefore(byteCount: Int)
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
    case pixelsRead(PixelSize)
    /// `isIsolated`: in another process.
    case decoded(PixelSize, ImageFormat?, isIsolated: Bool)
    case notDecoded(ImageInfo)
    case reused(from: PixelSize, to: PixelSize)
    case processed(String)
    case failed(WebImageError)
    case invalidated(count: Int)
    case provided
    case lowData
    case noted(String)
}

extension TraceFact: CustomStringConvertible {
    var description: String {
        switch self {
        case .memoryAnswered(let cache): "the image is in memory" + Self.words(in: cache)
        case .memoryShown: "the image in memory is a preview until the server has responded"
        case .noted(let text): text
        case .noDisk: "the disk cache is not used"
        case .diskRead(0, _, let cache): "nothing is stored" + Self.words(in: cache)
        case .diskRead(let count, let byteCount, let cache):
            (byteCount.map { "\($0) bytes are stored" } ?? "a response is stored") + Self.words(in: cache)
                + (count > 1 ? ", one of \(count) responses for this URL" : "")
        case .decided(let decision, let policy): "\(policy): \(decision.words)"
        case .answered(let answer): answer.words
        case .arrivedBefore(let byteCount): "another load of the URL has just received its \(byteCount) bytes"
        case .triedAgain(let attempts): attempts.words
        case .confirmed: "the server confirmed that the stored response is current"
        case .unconfirmed:
            "the server confirmed a response that is not the stored one; loading the whole response"
        case .standsIn: "the stored response is used, because the server failed"
        case .stored(let byteCount): "storing \(byteCount) bytes on disk"
        case .notStored(let obstacle): "not stored on disk: \(obstacle)"
        case .keptDespite(let obstacle): "stored on disk only for policies that ignore HTTP: \(obstacle)"
        case .errorStored(let status): "status \(status) is cached while it is fresh"
        case .removed(let status): "status \(status): removing the stored response"
        case .decoded(let size, let format, let isIsolated):
            "\(size)\(format.map { " \($0.name)" } ?? "")\(isIsolated ? ", in a separate process" : "")"
        case .variantRead(let byteCount): "the image is stored at this size, \(byteCount) bytes"
        case .pixelsRead(let size): "the image is stored as pixels, \(size)"
        case .notDecoded(let info): "not decoded: \(info.size) \(info.format.name)"
        case .reused(let larger, let size): "\(size), scaled down from \(larger) in memory"
        case .processed(let identifier): identifier
        case .failed(let error): error.description
        case .invalidated(let count):
            count == 1
                ? "the stored response for the URL is out of date"
                : "the stored responses for \(count) URLs are out of date"
        case .provided: "the request's closure returned the image"
        case .lowData: "the image is not cached, so its low-data URL is loaded instead"
        }
    }

    private static func words(in cache: String?) -> String { cache.map { " (\($0))" } ?? "" }
}

extension HTTPCachePolicy.Decision {
    fileprivate var words: String {
        switch self {
        case .serve(_, let reason): "served from the cache: \(reason)"
        case .serveAndRevalidate(_, let revalidation, let reason):
            "served from the cache and revalidating: \(reason)\(revalidation.words)"
        case .revalidate(_, let revalidation, let reason): "revalidating: \(reason)\(revalidation.words)"
        case .load(let reason): "loading: \(reason)"
        case .fail(let reason): "not allowed to use the network: \(reason)"
        }
    }
}

extension HTTPCachePolicy.Revalidation {
    fileprivate var words: String {
        conditions.isEmpty ? "; no validator, so the whole response is loaded" : ""
    }
}

/// A loader's answer without the body, which a trace must not hold.
struct AnswerNote: Sendable {
    let statusCode: Int?
    let byteCount: Result<Int, WebImageError>
    let metrics: LoaderMetrics?
    /// The validators that were sent.
    let conditions: [HTTPHeader]

    /// The bytes received in a transfer that was resumed; `nil` for all others. Its response has the status of the whole.
    private var received: Int64? {
        guard let exchange = metrics?.exchanges.last, exchange.statusCode == 206, statusCode != 206 else { return nil }
        return exchange.bodyByteCount
    }

    fileprivate var words: String {
        var words =
            conditions.isEmpty
            ? "" : "sent " + conditions.map { "\($0.name): \($0.value)" }.joined(separator: ", ") + "; "
        switch byteCount {
        case .success(let count):
            words +=
                received.map { "resumed with status 206, \($0) of \(count) bytes" }
                ?? statusCode.map { "status \($0), \(count) bytes" } ?? "\(count) bytes"
        // Error descriptions are complete sentences, and nothing more is known about a connection that failed.
        case .failure(let error): return words + error.description
        }
        guard let exchange = metrics?.exchanges.last else { return words }
        if let redirectCount = metrics?.redirectCount, redirectCount > 0 {
            words += redirectCount == 1 ? ", after a redirect" : ", after \(redirectCount) redirects"
        }
        if let version = exchange.httpVersion { words += ", \(version.rawValue)" }
        return words + (exchange.isConnectionReused ? ", on an existing connection" : ", on a new connection")
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
            words += " after a wait of \(duration.words), as the server requested (Retry-After)"
        case .connectivity: words += " after waiting for a network"
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
