/// What happens on the way to a picture.
public enum LoadEvent: Sendable {
    /// Bytes have arrived. The first one says 0; `expected` is `nil` where the length is unknown. Progress that nobody
    /// has read yet is replaced by newer progress. It begins anew, at 0, with each attempt at a loader after the first.
    case progress(received: Int64, expected: Int64?)
    /// A picture that will do until the end: a stored one while the server is asked whether it is still good. One that nobody
    /// has looked at yet is replaced by the next.
    case preview(Image)
    /// The end, sent exactly once.
    case finished(Result<WebImageResponse, WebImageError>)
}
