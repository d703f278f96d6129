import FoundationEssentials
import Synchronization
import WebImageCore
import WebImageLoading

/// What is known about the answer that some bytes came with: the one source of truth for all pictures made of them, which
/// refer to it, and for the disk, whose metadata it has.
///
/// ```
///  picture, 200 px ─┐                       304 ─► update: all of them are fresh again
///  picture, whole ──┼─► ResponseRecord ◄─┬
///  picture, round ──┘        ▲           newer bytes ─► supersede: none of them answers any more
///                    ProvenanceTable (weak)
/// ```
final class ResponseRecord: ImageProvenance {
    private struct State {
        var response: StoredResponse?
        /// Worked out once: header fields are not read at each hit in memory.
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
    /// Whether there is a Vary.
    private let varies: Atomic<Bool>

    /// - Parameter response: `nil` for bytes of which nothing is known.
    init(_ response: StoredResponse?) {
        state = Lock(State(response))
        varies = Atomic(response?.isTiedToRequest ?? false)
    }

    var isSuperseded: Bool { superseded.load(ordering: .relaxed) }

    var mayDependOnRequest: Bool { varies.load(ordering: .relaxed) }

    /// The answer, as last confirmed.
    var response: StoredResponse? { state.withLock { $0.response } }

    /// Whether it answers, by the rules of HTTP, every request without header fields of its own. `false` may also mean that
    /// this takes a closer look.
    func isPlainlyFresh(at time: Date) -> Bool { state.withLock { $0.freshPeriod?.contains(time) ?? false } }

    /// Takes over what the server has just said about the same body.
    func update(_ response: StoredResponse) {
        let new = State(response)
        state.withLock { state in
            guard state.response?.bodyNumber == response.bodyNumber else { return }
            state = new
            varies.store(response.isTiedToRequest, ordering: .relaxed)
        }
    }

    /// Takes over what the disk has, if that is newer: another process may have asked the server since.
    func update(fromDisk response: StoredResponse) {
        if let known = self.response, known.responseTime < response.responseTime { update(response) }
    }

    /// Says that newer bytes have come.
    func supersede() { superseded.store(true, ordering: .relaxed) }
}

extension StoredResponse {
    /// Whether `other` came later to a request of the same kind. Others that Vary tells apart are as good as before.
    func isOlder(than other: StoredResponse) -> Bool {
        responseTime < other.responseTime && varyNames == other.varyNames && varyingFields == other.varyingFields
    }

    fileprivate var isTiedToRequest: Bool { !varyNames.isEmpty }
}

extension ProvenanceTable {
    /// The record of what the disk has. Where it is newer than what pictures in memory were made of, another process has
    /// stored it, and those are out of date.
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

    /// Adds a record that another table has made of what the disk has.
    func include(_ record: ResponseRecord, source: String) {
        change(of: source) { live in
            guard !live.contains(where: { $0 === record }) else { return }
            let stored = record.response
            for case let known as ResponseRecord in live where known.isOlder(than: stored) { known.supersede() }
            live.removeAll { $0.isSuperseded }
            live.append(record)
        }
    }

    /// Notes what a loader has just brought. What answered the same request until now is out of date.
    ///
    /// - Parameter requestHeaders: of that request.
    func adopt(_ new: ResponseRecord, source: String, requestHeaders: [HTTPField]) {
        change(of: source) { live in
            for case let record as ResponseRecord in live where record !== new && record.answers(requestHeaders) {
                record.supersede()
            }
            live.removeAll { $0.isSuperseded || $0 === new }
            live.append(new)
        }
    }

    /// Says that nothing that is in memory of `source` is good any more.
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
