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
}
