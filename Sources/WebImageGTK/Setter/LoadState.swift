public import WebImage

/// How far a view is with its picture.
public enum LoadState: Sendable, Equatable {
    /// Nothing to do: no URL, cancelled, or waiting to be shown again.
    case idle
    /// Under way; the numbers are bytes, `expected` is `nil` where the length is unknown.
    case loading(received: Int64, expected: Int64?)
    /// The picture is there, and where it came from.
    case loaded(ImageOrigin)
    /// There will be no picture; set the same URL again to try once more.
    case failed(WebImageError)

    /// How much is there, from 0 to 1: 1 when loaded, `nil` while nobody knows the length and where nothing is under way.
    public var fraction: Double? {
        switch self {
        case .loading(let received, let expected?) where expected > 0:
            min(1, max(0, Double(received) / Double(expected)))
        case .loaded: 1
        case .idle, .loading, .failed: nil
        }
    }
}
