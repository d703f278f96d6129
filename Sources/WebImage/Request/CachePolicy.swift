/// Which of cache and server may answer a request.
///
/// | | memory | disk | server |
/// |---|---|---|---|
/// | ``cacheFirst`` | whatever is there | whatever is there | when there is nothing |
/// | ``http`` | while fresh | while fresh | when stale: asked whether it is still good |
/// | ``refresh`` | as a preview | as a preview | always asked whether it is still good |
/// | ``reload`` | no | no | always, for all of it |
/// | ``cacheOnly`` | whatever is there | whatever is there | never |
/// | ``offline`` | unless forbidden | unless forbidden | never |
///
/// An answer for other values of the fields that its Vary names answers no request, under any policy. Whatever comes from
/// a server is kept for requests with any policy, unless the server forbids it (`no-store`): that goes to memory alone, and
/// only under ``cacheFirst``.
///
/// A loader without HTTP says nothing on which the rules could work: under ``http`` and ``refresh`` what it loads is loaded
/// each time. What lies on this machine's disk counts as at hand under ``offline``.
public enum CachePolicy: String, Sendable, Hashable, Codable, CaseIterable {
    /// What is stored is good, whatever its age: memory, then disk, then the loader. The default, as in every image library:
    /// a picture's URL is expected to change with its content.
    case cacheFirst
    /// The rules of HTTP for a private cache (RFC 9111, RFC 5861): what is stored answers while the server's word lets it;
    /// then the server is asked whether it is still good, which costs a round trip and no transfer where it is. With
    /// `stale-while-revalidate` the stored picture is a preview meanwhile; with `stale-if-error` it stands in for a server
    /// in trouble. Errors that the server lets a cache keep, such as 404 with `max-age`, are answered again while fresh.
    case http
    /// The stored picture at once as a preview, and then what the server says: the same picture
    /// (``WebImageResponse/isUnchanged``) or another. Without a server it is a failure, unless `stale-if-error` lets the
    /// stored picture stand in. Not asked is a server that called the picture `immutable`, while that is fresh.
    case refresh
    /// Straight to the loader, past every cache on the way; the answer replaces what is stored.
    case reload
    /// Memory and disk only, whatever their age; a miss is ``WebImageError/notInCache(key:)``.
    case cacheOnly
    /// As ``http`` where no server can be had: what is stored is good, however stale, unless the server forbids just that
    /// (`must-revalidate`, `no-cache`); then, and with nothing stored, it is ``WebImageError/notInCache(key:)``.
    case offline
}
