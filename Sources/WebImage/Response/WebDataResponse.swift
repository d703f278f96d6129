public import FoundationEssentials

/// A response from ``WebImageManager/data(for:method:body:)``, from the server or from the cache.
public struct WebDataResponse: Sendable {
    /// The body; empty if there is none, as after a HEAD request.
    public var data: Data
    /// The status, also of an error; `nil` from a loader without HTTP, and for bytes that were stored without a head.
    public var statusCode: Int?
    /// The header fields. A response from the cache has its age in an `Age` field, and lacks fields that must not be reused
    /// without revalidation.
    public var headers: [HTTPField]
    /// The final URL, after redirects.
    public var url: URL
    /// Where the response came from.
    public var origin: ImageOrigin
    /// Whether the body came from the cache, and the server has just confirmed that it is current.
    package var isConfirmed: Bool
    /// Whether a cached response was served that is no longer fresh, because the server allows that or because the policy does
    /// not ask the server.
    package var isStale: Bool
    /// Measurements of the transfer; `nil` without one, and from a loader that does not measure.
    public var metrics: LoaderMetrics?
    /// What happened during the load.
    package var trace: LoadTrace

    /// Returns the value of the last field with this name, in any case.
    package func headerValue(_ name: String) -> String? {
        let wanted = name.lowercased()
        return headers.last { $0.name.lowercased() == wanted }?.value
    }
}
