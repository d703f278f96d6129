public import FoundationEssentials

/// The answer to ``WebImageManager/data(for:method:body:)``: whatever the server has to say, or what is stored of it.
public struct WebDataResponse: Sendable {
    /// The body; empty where there is none, as after a HEAD.
    public var data: Data
    /// The status, of an error too; `nil` for a loader without HTTP, and for bytes that were stored without their head.
    public var statusCode: Int?
    /// The fields of the head. What the cache answers has its age in an `Age` field, and lacks what may not be passed on
    /// unconfirmed.
    public var headers: [HTTPField]
    /// Where it came from in the end, after redirects.
    public var url: URL
    /// Who answered.
    public var origin: ImageOrigin
    /// Whether the server has just said that what is stored is still good, and the body came from the cache.
    public var isConfirmed: Bool
    /// Whether it is older than the server's word lets it be fresh: served so because that was allowed, or because the
    /// policy does not ask.
    public var isStale: Bool
    /// How the transfer went; `nil` without one, and from a loader that does not measure.
    public var metrics: LoaderMetrics?
    /// What happened on the way to it.
    public var trace: LoadTrace

    /// The value of the last field with that name, in any case.
    public func headerValue(_ name: String) -> String? {
        let wanted = name.lowercased()
        return headers.last { $0.name.lowercased() == wanted }?.value
    }
}
