import Foundation
import Synchronization
import WebImage
import WebImageShared

/// Makes thumbnails, and says how the cache is doing.
struct ThumbnailService: Sendable {
    let manager: WebImageManager
    let shared: SharedImageCache?
    /// In seconds.
    let maxAge: Int

    private static let sides = 1...2048
    /// Encoding takes a processor each.
    private static let encoders = DispatchSemaphore(value: ProcessInfo.processInfo.activeProcessorCount)

    /// Blocks the thread until the response is complete.
    func respond(to exchange: HTTPExchange) -> HTTPResponse {
        switch exchange.request.path {
        case "/thumb": thumbnail(for: exchange)
        case "/counters": .text(200, counters)
        case "/health": .text(200, "ok")
        default: .text(404, "There are /thumb, /counters and /health.")
        }
    }

    /// Writes to the store what still waits.
    func finish() {
        guard let shared else { return }
        let end = DispatchSemaphore(value: 0)
        Task.detached {
            await shared.flush()
            end.signal()
        }
        _ = end.wait(timeout: .now() + 10)
    }

    // MARK: Thumbnails

    private func thumbnail(for exchange: HTTPExchange) -> HTTPResponse {
        let query = exchange.request.query
        let formats: [String: ImageFormat] = ["jpeg": .jpeg, "png": .png, "webp": .webp]
        func side(_ name: String, otherwise value: Int?) -> Int?? {
            guard let text = query[name] else { return .some(value) }
            return Int(text).flatMap { Self.sides.contains($0) ? .some($0) : nil }
        }
        guard let url = query["url"].flatMap({ URL(string: $0) }),
            let height = side("height", otherwise: nil),
            let width = side("width", otherwise: height == nil ? 320 : nil),
            query["format"].map({ formats[$0] != nil }) ?? true
        else { return .text(400, "Use /thumb?url=URL&width=1…2048&height=1…2048&format=jpeg|png|webp.") }
        let request = WebImageRequest(
            url, cachePolicy: .http, thumbnail: Thumbnail(.pixels(width: width, height: height)))
        do {
            let image = try wait(for: request, exchange)
            // JPEG has no transparency.
            let format = query["format"].flatMap { formats[$0] } ?? (image.pixels.isOpaque ? .jpeg : .webp)
            Self.encoders.wait()
            defer { Self.encoders.signal() }
            let data = try CodecRegistry.shared.encode(
                Image(pixels: image.pixels), as: format, options: EncodingOptions(quality: 0.8))
            return HTTPResponse(
                status: 200,
                headers: [("Content-Type", format.mimeType), ("Cache-Control", "public, max-age=\(maxAge)")], body: data
            )
        } catch {
            var response = HTTPResponse.text(error.status, error.description)
            // Absent images may appear; other errors may pass at any time.
            response.headers.append(("Cache-Control", error.status == 404 ? "public, max-age=60" : "no-store"))
            return response
        }
    }

    /// Loads an image, and cancels the load if the client goes away.
    private func wait(for request: WebImageRequest, _ exchange: HTTPExchange) throws(WebImageError) -> Image {
        let end = DispatchSemaphore(value: 0)
        let result = Outcome()
        let operation = manager.load(request) {
            result.value.withLock { [new = $0] in $0 = new }
            end.signal()
        }
        while end.wait(timeout: .now() + .milliseconds(250)) == .timedOut {
            if exchange.isAbandoned { operation.cancel() }
        }
        return try result.value.withLock { $0 }.get().image
    }

    private final class Outcome: Sendable {
        let value = Mutex<Result<WebImageResponse, WebImageError>>(.failure(.cancelled))
    }

    // MARK: Counters

    /// In the text format of Prometheus.
    private var counters: String {
        guard let counters = shared?.counters else { return "# no shared cache" }
        let values = [
            ("hits", counters.hits), ("misses", counters.misses), ("failures", counters.failures),
            ("invalid_objects", counters.invalidObjects), ("writes", counters.writes),
            ("dropped_writes", counters.droppedWrites), ("shared_loads", counters.sharedLoads),
            ("abandoned_waits", counters.abandonedWaits),
            ("interruptions", counters.interruptions), ("interrupted", counters.isInterrupted ? 1 : 0),
        ]
        return values.map { "webimage_shared_\($0) \($1)" }.joined(separator: "\n")
    }
}

extension WebImageError {
    /// The status of a response that reports the error.
    fileprivate var status: Int {
        switch self {
        case .invalidURL, .invalidRequest: 400
        // What failed before is the origin's error.
        case .blocked(.failedBefore, _), .blocked(.hook, _): 502
        case .blocked: 403
        case .httpStatus(404, _), .httpStatus(410, _): 404
        case .timedOut: 504
        case .unrecognizedFormat, .decoding, .limitExceeded(.isolation, _): 415
        case .invalidResponse(.bodyTooLong, _), .limitExceeded: 413
        case .outOfResources: 503
        case .httpStatus, .transport, .certificate, .invalidResponse: 502
        default: 500
        }
    }
}
