import FoundationEssentials
import WebImageCaching
import WebImageCore
import WebImageLoading

/// The known properties of the response that some bytes came with. All images made from the bytes share one record. Its
/// response is the one whose metadata the disk stores.
///
/// ```
///  image, 200 px ─┐                       304 ─► update: all of them are fresh again
///  image, whole ──┼─► ResponseRecord ◄─┬
///  image, round ──┘        ▲           newer bytes ─► supersede: none of them may be used any more
///                  ProvenanceTable (weak)
/// ```
final class ResponseRecord: ImageProvenance {
    private struct State {
        var response: CachedResponse? { didSet { knownFreshPeriod = nil } }
        /// Computed once, at the first use: neither storing a response nor a later hit in memory parses header fields.
        private var knownFreshPeriod: (isShared: Bool, period: Range<Date>?)?
        /// Identifies the bytes, if that is known.
        var mark: BytesMark?
        /// Identifies bytes that are not stored.
        var unstoredMark: BytesMark?

        init(_ response: CachedResponse?) { self.response = response }

        mutating func freshPeriod(isShared: Bool) -> Range<Date>? {
            if let knownFreshPeriod, knownFreshPeriod.isShared == isShared { return knownFreshPeriod.period }
            var period: Range<Date>?
            if let response, response.isReusable, !response.lacksBody,
                !isShared || !CacheControl(response.headers).has(.isPrivate)
            {
                period = HTTPCachePolicy.freshPeriod(of: isShared ? response.forSharedCache : response)
            }
            knownFreshPeriod = (isShared, period)
            return period
        }
    }

    private let state: Lock<State>
    /// The image may depend on the request if the response has a `Vary` field.
    let marks: ProvenanceMarks

    /// - Parameter response: `nil` if nothing is known about the bytes.
    init(_ response: CachedResponse?) {
        state = Lock(State(response))
        marks = ProvenanceMarks(mayDependOnRequest: response?.isTiedToRequest ?? false)
    }

    var isSuperseded: Bool { marks.isSuperseded }

    var mayDependOnRequest: Bool { marks.mayDependOnRequest }

    /// The response, as last confirmed.
    var response: CachedResponse? { state.withLock { $0.response } }

    /// Identifies the bytes on disk, if that is known.
    var mark: BytesMark? {
        get { state.withLock { $0.mark } }
        set { state.withLock { $0.mark = newValue } }
    }

    /// Notes what bytes they are, if no cache stores them. Files are loaded for each size, and images of all sizes stay valid as long as
    /// the file has the same bytes.
    func noteUnstored(_ data: Data) {
        let mark = BytesMark(data)
        state.withLock { $0.unstoredMark = mark }
    }

    /// Whether both are of the same bytes, which are not stored.
    fileprivate func hasSameUnstoredBytes(as other: ResponseRecord) -> Bool {
        guard let own = state.withLock({ $0.unstoredMark }) else { return false }
        return own == other.state.withLock { $0.unstoredMark }
    }

    /// Returns whether HTTP allows it to answer every request without header fields of its own. `false` may also mean
    /// that this needs a closer look.
    ///
    /// - Parameter isShared: whether the answers are for several users.
    func isPlainlyFresh(at time: Date, isShared: Bool) -> Bool {
        state.withLock { $0.freshPeriod(isShared: isShared)?.contains(time) ?? false }
    }

    /// Updates the response after the server has confirmed the same body.
    func update(_ response: CachedResponse) {
        state.withLock { state in
            guard state.response?.bodyNumber == response.bodyNumber else { return }
            state.response = response
            marks.mayDependOnRequest = response.isTiedToRequest
        }
    }

    /// Updates the response from disk if that is newer. Another process may have contacted the server since.
    func update(fromDisk response: CachedResponse) {
        if let known = self.response, known.responseTime < response.responseTime { update(response) }
    }

    /// Marks the images of the record as out of date.
    func supersede() { marks.supersede() }
}

extension CachedResponse {
    /// Whether `other` is a later response to the same kind of request. Responses that `Vary` distinguishes stay valid.
    func isOlder(than other: CachedResponse) -> Bool {
        responseTime < other.responseTime && varyingFieldNames == other.varyingFieldNames
            && varyingFields == other.varyingFields
    }

    fileprivate var isTiedToRequest: Bool { !varyingFieldNames.isEmpty }
}

extension ProvenanceTable {
    /// Returns the record of the response on disk. If it is newer than the responses of images in memory, another
    /// process has stored it, and those images are out of date.
    func record(of stored: CachedResponse?, source: String) -> ResponseRecord {
        var result = ResponseRecord(stored)
        change(of: source) { live in
            let records = live.lazy.compactMap { $0 as? ResponseRecord }.filter { !$0.isSuperseded }
            for record in records where record.response?.bodyNumber == stored?.bodyNumber {
                if let stored { record.update(fromDisk: stored) }
                result = record
                return
            }
            for record in records where record.isOlder(than: stored) { record.supersede() }
            live.append(result)
        }
        return result
    }

    /// Adds a record that another table has created for the response on disk.
    func include(_ record: ResponseRecord, source: String) {
        change(of: source) { live in
            guard !live.contains(where: { $0 === record }) else { return }
            let stored = record.response
            for case let known as ResponseRecord in live where known.isOlder(than: stored) { known.supersede() }
            live.removeAll { $0.marks.isSuperseded }
            live.append(record)
        }
    }

    /// Notes the record of a new response. Earlier responses to the same request are out of date.
    ///
    /// - Parameter requestHeaders: those of that request; called outside the lock, if an earlier response varies.
    func adopt(_ new: ResponseRecord, source: String, requestHeaders: () -> [HTTPHeader]) {
        var headers: [HTTPHeader]?
        func replace(_ live: inout [any ImageProvenance]) -> Bool {
            for case let record as ResponseRecord in live where record !== new && !record.hasSameUnstoredBytes(as: new)
            {
                if record.mayDependOnRequest {
                    guard let headers else { return false }
                    guard record.answers(headers) else { continue }
                }
                record.supersede()
            }
            live.removeAll { $0.marks.isSuperseded || $0 === new }
            live.append(new)
            return true
        }
        var isDone = false
        change(of: source) { isDone = replace(&$0) }
        guard !isDone else { return }
        headers = requestHeaders()
        change(of: source) { _ = replace(&$0) }
    }

    /// Marks all images of `source` in memory as out of date.
    func supersedeAll(of source: String) {
        change(of: source) { live in
            for case let record as ResponseRecord in live { record.supersede() }
            live = []
        }
    }
}

extension ResponseRecord {
    fileprivate func answers(_ requestHeaders: [HTTPHeader]) -> Bool {
        response.map { $0.firstDifference(from: requestHeaders, ignoring: ["*"]) == nil } ?? true
    }

    fileprivate func isOlder(than stored: CachedResponse?) -> Bool {
        guard let stored, let own = response else { return false }
        return own.isOlder(than: stored)
    }
}

/// Where the responses for one URL are stored.
///
/// The latest is under the URL's own key, where readers without HTTP find it. Others, for requests that differ in what
/// `Vary` names, are under keys that the latest one lists:
///
/// ```
///  source          latest response    alternates 0, 2
///  source#vary=0   another response
///  source#vary=2   another response
/// ```
enum ResponsePlacement {
    /// Returns where to store a new response. Those that would answer its request too are removed; of the others the
    /// eight latest stay.
    ///
    /// - Parameter stored: what is stored for the URL, the latest first.
    static func of(
        _ response: CachedResponse, _ data: Data, among stored: [StoredImage], requestHeaders: [HTTPHeader]
    ) -> StoredChange.Placement {
        guard let latest = stored.first, var latestResponse = latest.response else {
            return StoredChange.Placement(data: data, responseMetadata: response.encoded)
        }
        var response = response
        var removed: [Int] = []
        var kept: [(slot: Int, date: Date)] = []
        for slot in latestResponse.alternates {
            guard let other = stored.first(where: { $0.slot == slot })?.response,
                response.leavesRoom(for: other, requestHeaders)
            else {
                removed.append(slot)
                continue
            }
            kept.append((slot, other.responseTime))
        }
        var displaced: (stored: StoredImage, responseMetadata: Data, slot: Int)?
        if response.leavesRoom(for: latestResponse, requestHeaders) {
            if kept.count == ImageCacheKey.alternateLimit,
                let oldest = kept.indices.min(by: { kept[$0].date < kept[$1].date })
            {
                kept.remove(at: oldest)
            }
            let slot = (0..<ImageCacheKey.alternateLimit).first { slot in !kept.contains { $0.slot == slot } } ?? 0
            // The alternates are listed with the new latest response.
            latestResponse.alternates = []
            displaced = (latest, latestResponse.encoded, slot)
            removed.removeAll { $0 == slot }
            kept.append((slot, latestResponse.responseTime))
        }
        response.alternates = kept.map(\.slot).sorted()
        return StoredChange.Placement(
            data: data, responseMetadata: response.encoded, displaced: displaced, removedSlots: removed)
    }
}

extension CachedResponse {
    /// Whether `other` still answers some request that this one does not, because `Vary` distinguishes them.
    ///
    /// - Parameter requestHeaders: of the request that this one answers.
    fileprivate func leavesRoom(for other: CachedResponse, _ requestHeaders: [HTTPHeader]) -> Bool {
        !varyingFieldNames.isEmpty && !other.varyingFieldNames.contains("*") && !other.matches(requestHeaders)
    }
}

extension PipelineCache {
    /// Reads the stored responses for an original: the latest, and those that `Vary` distinguishes from it unless the
    /// latest `isEnough`.
    func readResponses(
        of key: ImageCacheKey, priority: LoadPriority, isEnough: @escaping @Sendable (CachedResponse?) -> Bool,
        completion: @escaping @Sendable ([StoredImage]) -> Void
    ) -> (any LoaderTask)? {
        read(
            key.original, priority: priority, alternates: { $0.alternates(isEnough: isEnough) }, completion: completion)
    }

    /// Like the method above, but blocks.
    func blockingResponses(of key: ImageCacheKey, isEnough: (CachedResponse?) -> Bool) -> [StoredImage] {
        blockingRead(key.original) { $0.alternates(isEnough: isEnough) }
    }
}

extension StoredImage {
    func alternates(isEnough: (CachedResponse?) -> Bool) -> [Int] {
        guard let response, !response.alternates.isEmpty, !isEnough(response) else { return [] }
        return response.alternates
    }
}

extension [StoredImage] {
    var responses: [CachedResponse?] { map(\.response) }

    /// Whether a new response may have to be stored beside one of these.
    var dependOnRequest: Bool { count > 1 || contains { $0.response?.varyingFieldNames.isEmpty == false } }
}
