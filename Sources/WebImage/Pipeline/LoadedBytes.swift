import FoundationEssentials
import Synchronization
import WebImageCaching
import WebImageCore
import WebImageLoading

/// The bytes of a bytes job, and where they come from.
final class LoadedBytes: Sendable {
    let data: Data
    let origin: ImageOrigin
    /// What is known about the response.
    let record: ResponseRecord
    /// The head of the server's response, also of one that confirmed stored bytes.
    let head: LoaderResponse?
    let metrics: LoaderMetrics?
    /// The stored bytes; `nil` for new ones.
    let stored: StoredImage?
    /// Whether the server has confirmed stored bytes.
    let isConfirmed: Bool
    /// What to store; `nil` for stored bytes.
    let arrival: Arrival?
    private let isArrivalClaimed: Atomic<Bool>
    private let share: ByteBudget.Share

    /// From a loader.
    init(
        _ data: Data, head: LoaderResponse?, metrics: LoaderMetrics?, record: ResponseRecord, arrival: Arrival,
        share: ByteBudget.Share
    ) {
        (self.data, self.head, self.metrics, self.record, self.arrival) = (data, head, metrics, record, arrival)
        (origin, stored, isConfirmed, self.share) = (.remote, nil, false, share)
        isArrivalClaimed = Atomic(false)
    }

    /// From a cache.
    init(_ stored: StoredImage, record: ResponseRecord, share: ByteBudget.Share) {
        (data, self.stored, self.record, self.share) = (stored.data, stored, record, share)
        (origin, head, metrics, arrival, isConfirmed) = (.diskCache, nil, nil, nil, false)
        isArrivalClaimed = Atomic(false)
    }

    private init(confirming other: LoadedBytes, _ answer: LoaderAnswer) {
        (data, stored, record, share) = (other.data, other.stored, other.record, other.share)
        (origin, head, metrics, arrival, isConfirmed) = (other.origin, answer.head, answer.metrics, nil, true)
        isArrivalClaimed = Atomic(false)
    }

    /// The same bytes after the server has confirmed them.
    func confirmed(by answer: LoaderAnswer) -> LoadedBytes { LoadedBytes(confirming: self, answer) }

    var isForMemory: Bool { arrival?.isForMemory ?? true }
    var contentType: String? { head?.headerValue("Content-Type") }

    /// Returns what to store, for the first of the image jobs that share the bytes; `nil` for the others.
    func claimArrival() -> Arrival? {
        guard let arrival, !isArrivalClaimed.exchange(true, ordering: .relaxed) else { return nil }
        return arrival
    }
}

/// What to store of a response.
struct Arrival: Sendable {
    enum DiskUse: Sendable, Equatable {
        /// The disk stays as it is.
        case none
        /// The bytes replace what is stored.
        case stores
        /// The bytes are stored beside responses that `Vary` distinguishes.
        case storesBesideOthers
        /// What is stored is removed.
        case removes(others: Bool)
    }

    let disk: DiskUse
    let isForMemory: Bool
    /// The request's, for `Vary`.
    let requestHeaders: [HTTPField]
}
