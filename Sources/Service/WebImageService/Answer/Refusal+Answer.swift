internal import FoundationEssentials
internal import WebImageLoading

extension Refusal {
    /// Whether another source might have had a result, so that a fallback may stand for it.
    var isAboutSource: Bool {
        [404, 413, 415, 422, 502, 504].contains(status) && self != .expired && self != .timedOut
    }

    /// Returns the answer: the reason as plain text.
    func answer(hasBody: Bool) -> ServiceAnswer {
        let body = Data((text + "\n").utf8)
        var fields: [HTTPHeader] = [HTTPHeader(name: "Content-Type", value: "text/plain; charset=utf-8")]
        fields.add("Content-Length", "\(body.count)")
        fields.add("X-Content-Type-Options", "nosniff")
        // Absent sources may appear; other errors may pass at any time.
        fields.add("Cache-Control", status == 404 && self != .expired ? "public, max-age=60" : "no-store")
        if status == 405 { fields.add("Allow", "GET, HEAD") }
        if let retryAfter { fields.add("Retry-After", "\(retryAfter)") }
        var answer = ServiceAnswer(status: status, headers: fields, body: hasBody ? body : Data())
        answer.reason = detail
        return answer
    }
}
