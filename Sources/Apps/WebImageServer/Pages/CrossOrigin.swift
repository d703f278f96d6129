internal import WebImageLoading
internal import WebImageService

/// Tells browsers which origins' scripts may read answers (CORS).
struct CrossOrigin: Sendable {
    /// Empty for none.
    let origin: String
    /// Whether scripts may send images.
    var takesUploads = false

    /// Returns the answer to a request that asks for it before another one; `nil` for other requests, and if no origin is allowed.
    func answer(to request: ServiceRequest) -> ServiceAnswer? {
        guard request.method == "OPTIONS", !origin.isEmpty else { return nil }
        return ServiceAnswer(status: 204, headers: [HTTPHeader(name: "Allow", value: methods)])
    }

    /// Returns an answer with the fields for browsers.
    func added(to answer: ServiceAnswer) -> ServiceAnswer {
        guard !origin.isEmpty else { return answer }
        var answer = answer
        answer.headers.append(HTTPHeader(name: "Access-Control-Allow-Origin", value: origin))
        answer.headers.append(HTTPHeader(name: "Access-Control-Allow-Methods", value: methods))
        if takesUploads {
            answer.headers.append(
                HTTPHeader(name: "Access-Control-Allow-Headers", value: "Authorization, Content-Type"))
        }
        return answer
    }

    private var methods: String { takesUploads ? "GET, HEAD, POST, OPTIONS" : "GET, HEAD, OPTIONS" }
}
