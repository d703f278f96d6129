import FoundationEssentials
import Synchronization
import WebImageCore
import WebImageLoading

/// What is known about the response that some bytes came with. All images made from the bytes share one record. Its response is
/// the one whose metadata the disk stores.
///
/// ```
///  image, 200 px ─┐                       304 ─► update: all of them are fresh again
///  image, whole ──┼─► ResponseRecord ◄─┬
///  image, round ──┘        ▲           newer bytes ─► supersede: none of them may be used any more
///                  ProvenanceTable (weak)
/// ```
final class ResponseRecord: ImageProvenance {
    private struct State {
        var response: StoredResponse?
        /// Computed once, so that memory hits need not parse header fields.
        var freshPeriod: Range<Date>?

        init(_ response: StoredResponse?) {
            self.response = response
            if let response, response.isReusable, !response.lacksBody {
                freshPeriod = HTTPCachePolicy.freshPeriod(of: response)
            }
        }
    }

    private let state: Lock<State>
    private let superseded = Atomic(false)
    /// Whether the response has a `Vary` field.
    private let varies: Atomic<Bool>

    /// - Parameter response: `nil` if nothing is known about the bytes.
    init(_ response: StoredResponse?) {
        state = Lock(State(response))
        varies = Atomic(response?.isTiedToRequest ?? false)
    }

    var isSuperseded: Bool { superseded.load(ordering: .relaxed) }

    var mayDependOnRequest: Bool { varies.load(ordering: .relaxed) }

    /// The response, as last confirmed.
    var response: StoredResponse? { state.withLock { $0.response } }

    /// Returns whether HTTP allows it to answer every request without header fields of its own. `false` may also mean that this
    /// needs a closer look.
    func isPlainlyFresh(at time: Date) -> Bool { state.withLock { $0.freshPeriod?.contains(time) ?? false } }

    /// Updates the response after the server has confirmed the same body.
    func update(_ response: StoredResponse) {
        let new = State(response)
        state.withLock { state in
            guard state.response?.bodyNumber == response.bodyNumber else { return }
            state = new
            varies.store(response.isTiedToRequest, ordering: .relaxed)
        }
    }

    /// Updates the response from disk if that is newer. Another process may have asked the server since.
    func update(fromDisk response: StoredResponse) {
        if let known = self.response, known.responseTime < response.responseTime { update(response) }
    }

    /// Marks the images of the record as out of date.
    func supersede() { superseded.store(true, ordering: .relaxed) }
}

extension StoredResponse {
    /// Whether `other` is a later response to the same kind of request. Responses that `Vary` distinguishes stay valid.
    func isOlder(than other: StoredResponse) -> Bool {
        responseTime < other.responseTime && varyNames == other.varyNames && varyingFields == other.varyingFields
    }

    fileprivate var isTiedToRequest: Bool { !varyNames.isEmpty }
}

extension ProvenanceTable {
    /// Returns the record of the response on disk. If it is newer than the responses of images in memory, another process has
    /// stored it, and those images are out of date.
    func record(of stored: StoredResponse?, source: String) -> ResponseRecord {
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
            live.removeAll { $0.isSuperseded }
            live.append(record)
        }
    }

    /// Notes the record of a new response. Earlier responses to the same request are out of date.
    ///
    /// - Parameter requestHeaders: those of that request.
    func adopt(_ new: ResponseRecord, source: String, requestHeaders: [HTTPField]) {
        change(of: source) { live in
            for case let record as ResponseRecord in live where record !== new && record.answers(requestHeaders) {
                record.supersede()
            }
            live.removeAll { $0.isSuperseded || $0 === new }
            live.append(new)
        }
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
    fileprivate func answers(_ requestHeaders: [HTTPField]) -> Bool {
        response.map { $0.firstDifference(from: requestHeaders, ignoring: ["*"]) == nil } ?? true
    }

    fileprivate func isOlder(than stored: StoredResponse?) -> Bool {
        guard let stored, let own = response else { return false }
        return own.isOlder(than: stored)
    }
}
