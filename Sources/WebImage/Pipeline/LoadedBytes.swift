import FoundationEssentials
import Synchronization
import WebImageCaching
import WebImageCore
import WebImageLoading

/// A whole body, as the bytes stage hands it to everybody who waits for it.
final class LoadedBytes: Sendable {
    let data: Data
    let origin: ImageOrigin
    /// What the server called them.
    let contentType: String?
    /// How the transfer went, if there was one.
    let metrics: LoaderMetrics?
    /// How the disk cache has them, where they come from there.
    let stored: ImageCache.StoredOriginal?
    private let awaitsStorage: Atomic<Bool>
    /// Counts them as long as somebody is to decode them.
    private let share: BodyBudget.Share

    /// - Parameter awaitsStorage: whether they belong into the disk cache once they have proved to be a picture.
    init(
        data: Data, origin: ImageOrigin, contentType: String? = nil, metrics: LoaderMetrics? = nil,
        stored: ImageCache.StoredOriginal? = nil, awaitsStorage: Bool = false, share: BodyBudget.Share
    ) {
        self.stored = stored
        self.data = data
        self.origin = origin
        self.contentType = contentType
        self.metrics = metrics
        self.awaitsStorage = Atomic(awaitsStorage)
        self.share = share
    }

    /// `true` for the first caller, if they are to be stored: several pictures may be decoded from the same bytes.
    func claimStorage() -> Bool { awaitsStorage.exchange(false, ordering: .relaxed) }
}
