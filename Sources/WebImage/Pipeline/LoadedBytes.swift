import FoundationEssentials
import Synchronization
import WebImageCaching
import WebImageCore
import WebImageLoading

/// A whole body, as the bytes stage hands it to everybody who waits for it.
final class LoadedBytes: Sendable {
    let data: Data
    let origin: ImageOrigin
    /// What is known of the answer they came with.
    let record: ResponseRecord
    /// The head of the answer, where a loader has just brought it.
    let head: LoaderResponse?
    /// How the transfer went, if there was one.
    let metrics: LoaderMetrics?
    /// How the disk cache has them, where they come from there.
    let stored: ImageCache.StoredOriginal?
    /// Whether the server has just been asked about them, and they are still good.
    let isConfirmed: Bool
    /// What is to become of bytes that a loader has brought, once they have proved to be a picture.
    let arrival: Arrival?
    private let isArrivalClaimed: Atomic<Bool>
    /// Counts them as long as somebody is to decode them.
    private let share: BodyBudget.Share

    /// Brought by a loader just now.
    init(
        _ data: Data, head: LoaderResponse?, metrics: LoaderMetrics?, record: ResponseRecord, arrival: Arrival,
        share: BodyBudget.Share
    ) {
        (self.data, self.head, self.metrics, self.record, self.arrival) = (data, head, metrics, record, arrival)
        (origin, stored, isConfirmed, self.share) = (.remote, nil, false, share)
        isArrivalClaimed = Atomic(false)
    }

    /// Read from the disk cache.
    init(_ stored: ImageCache.StoredOriginal, record: ResponseRecord, share: BodyBudget.Share) {
        (data, self.stored, self.record, self.share) = (stored.data, stored, record, share)
        (origin, head, metrics, arrival, isConfirmed) = (.diskCache, nil, nil, nil, false)
        isArrivalClaimed = Atomic(false)
    }

    private init(confirming other: LoadedBytes, _ answer: LoaderAnswer) {
        (data, stored, record, share) = (other.data, other.stored, other.record, other.share)
        (origin, head, metrics, arrival, isConfirmed) = (other.origin, answer.head, answer.metrics, nil, true)
        isArrivalClaimed = Atomic(false)
    }

    /// The same, after the server has said that they are still good.
    func confirmed(by answer: LoaderAnswer) -> LoadedBytes { LoadedBytes(confirming: self, answer) }

    /// Whether memory may keep what is made of them.
    var isForMemory: Bool { arrival?.isForMemory ?? true }

    /// What the server called them.
    var contentType: String? { head?.headerValue("Content-Type") }

    /// What is to become of them, for the first caller: several pictures may be decoded from the same bytes.
    func claimArrival() -> Arrival? {
        guard let arrival, !isArrivalClaimed.exchange(true, ordering: .relaxed) else { return nil }
        return arrival
    }
}

/// What the caches do with an answer that a loader has brought.
struct Arrival: Sendable {
    /// What the disk cache does.
    enum DiskUse: Sendable, Equatable {
        /// It has no part in the request.
        case none
        /// It keeps the answer.
        case keeps
        /// It keeps it, and may have to leave room for other answers that Vary tells apart.
        case keepsBesideOthers
        /// The server forbids to keep it; what there was is out of date all the same, the answers that Vary tells apart
        /// included where there may be `others`.
        case forgets(others: Bool)
    }

    let disk: DiskUse
    /// Whether memory may keep what is made of it.
    let isForMemory: Bool
    /// Of the request that it answers.
    let requestHeaders: [HTTPField]
}
