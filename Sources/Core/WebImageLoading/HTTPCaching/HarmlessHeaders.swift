/// The names of request header fields that carry no credential and select no other content. Requests that differ only
/// in these share cached images.
///
/// Any other field may be a credential, so it is part of the cache key, and its request bypasses a cache that machines
/// share.
///
/// ```swift
/// var configuration = WebImageManager.Configuration()
/// configuration.harmlessHeaders.insert("X-Client-Version")
/// configuration.harmlessHeaders.insert("X-Trace-*")         // every name with that beginning
/// ```
///
/// A server may still tell responses apart by a harmless field if it names the field in `Vary`.
public struct HarmlessHeaders: Sendable, Hashable, ExpressibleByArrayLiteral {
    /// In lower case.
    private var names: Set<String> = []
    /// The beginnings of names, in lower case.
    private var prefixes: Set<String> = []

    /// The default: `Accept` and the fields whose names begin with `Accept-`, `User-Agent`, `Referer`, `Range`,
    /// conditions (`If-…`), `Cache-Control`, `Pragma`, fields that describe the request's body, `DNT`, `Sec-GPC`,
    /// `Sec-Fetch-…`, `Priority`, and fields that number a request or trace it across servers.
    ///
    /// The latter are `X-Request-ID`, `X-Correlation-ID`, W3C Trace Context (`traceparent`, `tracestate`, `baggage`),
    /// B3, and the fields of AWS, Azure, Google Cloud, Datadog, Elastic, Jaeger, New Relic, OpenTracing and Sentry.
    public static let standard = HarmlessHeaders(describing: describingNames.union(negotiationNames))

    private static let describingNames: Set = [
        "dnt", "sec-gpc", "sec-fetch-*", "priority", "upgrade-insecure-requests",
        // Numbers of requests.
        "x-request-id", "request-id", "x-requestid", "x-correlation-id", "correlation-id", "x-correlationid",
        "x-transaction-id", "x-trace-id", "trace-id", "x-span-id", "x-client-trace-id", "x-request-start",
        // W3C Trace Context and Baggage, B3.
        "traceparent", "tracestate", "baggage", "b3", "x-b3-*",
        // AWS, Azure, Google Cloud.
        "x-amzn-trace-id", "x-amzn-requestid", "x-ms-request-id", "x-ms-client-request-id", "client-request-id",
        "request-context", "x-ms-correlation-request-id", "x-cloud-trace-context", "grpc-trace-bin",
        // Datadog, Elastic, Jaeger, New Relic, OpenTracing, Sentry.
        "x-datadog-*", "elastic-apm-traceparent", "uber-trace-id", "newrelic", "x-newrelic-*", "ot-tracer-*",
        "x-ot-span-context", "sentry-trace",
    ]

    /// Fields that `Vary` distinguishes, or that concern caches, conditions and the body.
    private static let negotiationNames: Set<String> =
        HTTPHeader.conditionNames.union(RequestHeaders.bodyNames).union(RequestHeaders.framingNames)
        .union(["accept", "accept-*", "user-agent", "referer", "range", "cache-control", "pragma"])

    private static let negotiation = HarmlessHeaders(describing: negotiationNames)

    /// Creates a list of names, which replaces ``standard``. A name that ends in `*` is for all names with that
    /// beginning.
    public init(arrayLiteral names: String...) { self.init(describing: names) }

    private init(describing names: some Sequence<String>) { for name in names { insert(name) } }

    /// Adds a name; one that ends in `*` is for all names with that beginning. Case does not matter.
    ///
    /// Add no field that contains a credential, or that tells users apart: they would get each other's images.
    public mutating func insert(_ name: String) {
        let name = name.lowercased()
        if name.hasSuffix("*") { prefixes.insert(String(name.dropLast())) } else { names.insert(name) }
    }

    /// Removes a name, in the form in which it was added.
    public mutating func remove(_ name: String) {
        let name = name.lowercased()
        if name.hasSuffix("*") { prefixes.remove(String(name.dropLast())) } else { names.remove(name) }
    }

    /// Returns whether a field is harmless. Case does not matter.
    public func contains(_ name: String) -> Bool {
        let name = name.lowercased()
        return names.contains(name) || prefixes.contains { name.hasPrefix($0) }
    }

    /// Whether a field has no effect on the response, so that requests that differ in it share a transfer. `Accept` has
    /// one; a number of the request has none.
    func isIrrelevant(_ name: String) -> Bool { contains(name) && !Self.negotiation.contains(name) }

    /// The names differ rarely.
    public func hash(into hasher: inout Hasher) { hasher.combine(names.count) }
}
