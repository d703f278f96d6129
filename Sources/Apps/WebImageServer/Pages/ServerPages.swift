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
        case "/health": text(200, "ok\n", request)
        case "/ready":
            service.isReady && !isStopping()
                ? text(200, "ready\n", request)
                : text(503, isStopping() ? "stopping\n" : "overloaded\n", request, [("Retry-After", "1")])
        case _ where !bearer.accepts(request): ServiceAnswer.forbidden(request)
        case "/metrics":
            text(
                200, metrics.text(service.counters, service.configuration), request,
                type: "text/plain; version=0.0.4; charset=utf-8")
        case "/status": text(200, status, request)
        default: nil
        }
    }

    /// The version, and where images are decoded: the layers that hold, and why others do not.
    private var status: String {
        let isolation = service.configuration.images.isolatedDecoding.blockingStatus
        return "webimage-server \(LibraryVersion.text)\n\(isolation)\n"
    }

    private func text(
        _ status: Int, _ text: String, _ request: ServiceRequest, _ more: [(String, String)] = [],
        type: String = "text/plain; charset=utf-8"
    ) -> ServiceAnswer {
        let body = Data(text.utf8)
        let fields =
            [("Content-Type", type), ("Content-Length", "\(body.count)"), ("Cache-Control", "no-store")] + more
        return ServiceAnswer(
            status: status, headers: fields.map { HTTPField(name: $0.0, value: $0.1) },
            body: request.method == "HEAD" ? Data() : body)
    }
}
