extension HTTPField {
    /// Whether a request header field carries no credential and does not select other content. `Vary` distinguishes
    /// responses by the `Accept` fields.
    ///
    /// - Parameter name: the field name in lowercase.
    package static func isHarmless(_ name: String) -> Bool {
        name == "accept" || name.hasPrefix("accept-") || conditionNames.contains(name) || harmlessNames.contains(name)
            || tracingNames.contains(name) || RequestHeaders.bodyNames.contains(name)
            || RequestHeaders.framingNames.contains(name)
    }

    /// Fields that trace a request across servers and differ for each request: W3C Trace Context, request IDs, B3, and
    /// the formats of Jaeger, AWS, Google Cloud, Datadog and Sentry.
    package static let tracingNames: Set = [
        "traceparent", "tracestate", "x-request-id", "request-id", "x-correlation-id", "correlation-id", "b3",
        "x-b3-traceid", "x-b3-spanid", "x-b3-parentspanid", "x-b3-sampled", "x-b3-flags", "uber-trace-id",
        "x-amzn-trace-id", "x-cloud-trace-context", "x-datadog-trace-id", "x-datadog-parent-id",
        "x-datadog-sampling-priority", "sentry-trace",
    ]

    private static let harmlessNames: Set = ["user-agent", "referer", "range", "cache-control", "pragma"]
}
