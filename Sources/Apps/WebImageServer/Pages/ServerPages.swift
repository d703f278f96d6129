internal import FoundationEssentials
internal import WebImageCore
internal import WebImageLoading
internal import WebImageService

/// The pages of the server itself.
struct ServerPages: Sendable {
    let service: ImageService
    let metrics: ServerMetrics
    let bearer: BearerCheck
    /// Whether the server is stopping.
    let isStopping: @Sendable () -> Bool

    /// Returns the answer to a request for a page, and to one without the secret of the server; `nil` for other requests.
    func answer(to request: ServiceRequest) -> ServiceAnswer? {
        switch request.target.prefix(while: { $0 != "?" }) {
        case "/health": .text(200, "ok", to: request)
        case "/ready":
            service.isReady && !isStopping()
                ? .text(200, "ready", to: request)
                : .text(503, isStopping() ? "stopping" : "overloaded", to: request, [("Retry-After", "1")])
        case _ where !bearer.accepts(request):
            .text(403, "The request needs the secret of the server in its Authorization field.", to: request)
        case "/metrics":
            .text(
                200, metrics.text(service.counters, service.configuration), to: request,
                type: "text/plain; version=0.0.4; charset=utf-8")
        case "/status": .text(200, status, to: request)
        default: nil
        }
    }

    /// The version, and where images are decoded: the layers that hold, and why others do not.
    private var status: String {
        let isolation = service.configuration.images.isolatedDecoding.blockingStatus
        return "webimage-server \(LibraryVersion.text)\n\(isolation)"
    }
}

extension ServiceAnswer {
    /// An answer of the server itself.
    static func text(
        _ status: Int, _ text: String, to request: ServiceRequest, _ more: [(String, String)] = [],
        type: String = "text/plain; charset=utf-8"
    ) -> ServiceAnswer {
        let body = Data((text.hasSuffix("\n") ? text : text + "\n").utf8)
        let fields = [
            ("Content-Type", type), ("Content-Length", "\(body.count)"), ("X-Content-Type-Options", "nosniff"),
            ("Cache-Control", "no-store"),
        ]
        return ServiceAnswer(
            status: status, headers: (fields + more).map { HTTPHeader(name: $0.0, value: $0.1) },
            body: request.method == "HEAD" ? Data() : body)
    }

    /// The answer to a request that a stopping server does not take, or cancels.
    static func stopping(_ request: ServiceRequest) -> ServiceAnswer {
        .text(503, "The service is stopping.", to: request, [("Retry-After", "1")])
    }
}
