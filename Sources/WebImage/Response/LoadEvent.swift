/// An event of a load.
public enum LoadEvent: Sendable {
    /// Bytes have arrived. The first event has 0; `expected` is `nil` if the length is unknown. Unread progress is replaced by
    /// newer progress. Progress starts again at 0 with each attempt at a loader after the first.
    case progress(received: Int64, expected: Int64?)
    /// An image to show until the end, such as a stored one while the server is asked whether it is current. An unread preview
    /// is replaced by the next.
    case preview(Image)
    /// The result, sent exactly once.
    case finished(Result<WebImageResponse, WebImageError>)
}
