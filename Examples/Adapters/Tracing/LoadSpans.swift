// Loads of images in swift-distributed-tracing. Copy this file into your program, which needs the product WebImage.

import Foundation
import Tracing
import WebImage

extension WebImageManager.Configuration {
    /// Records a span for each load, and one for each of its stages. Closures that are set already are called first.
    ///
    /// ```swift
    /// var configuration = WebImageManager.Configuration.server
    /// configuration.traceLoads()
    /// ```
    ///
    ///     image load ── 41 ms ─────────────────────────────────────────┐
    ///        ├─ image transfer ── 30 ms ───────┐                       │
    ///        │                                 └─ image decode ─ 9 ms ─┤
    ///        └ event: image store                                      │
    ///
    /// The span of a load is a child of the one that is current where the load is called. It is sent when the load has ended,
    /// with the times that were measured. What takes no time is an event. A stage that several loads share is a span of each
    /// of them, and may have started before the load. URLs are without user names, passwords and queries.
    ///
    /// - Parameter tracer: records the spans; `nil`, the default, is that of the program.
    mutating func traceLoads(with tracer: (any Tracer)? = nil) {
        let (prepare, end) = (optionsProcessor, didFinish)
        optionsProcessor = { request in
            prepare?(&request)
            // Callbacks run outside of the task that has called the load.
            if let context = ServiceContext.current { request.userInfo[contextKey] = context }
        }
        didFinish = { operation, result in
            end?(operation, result)
            LoadSpans(operation: operation).record(result, with: tracer ?? InstrumentationSystem.tracer)
        }
    }
}

private let contextKey = "webimage.tracing.context"

/// The spans of a load that has ended.
private struct LoadSpans {
    let operation: WebImageOperation
    private let start: UInt64
    private let end: UInt64

    init(operation: WebImageOperation) {
        self.operation = operation
        end = DefaultTracerClock.now.nanosecondsSinceEpoch
        start = Self.time(end, plus: .zero - operation.elapsed)
    }

    func record(_ result: Result<WebImageResponse, WebImageError>, with tracer: any Tracer) {
        let context = operation.request.userInfo[contextKey] as? ServiceContext ?? .topLevel
        let span = tracer.startSpan("image load", context: context, at: Self.instant(start))
        span.attributes.merge(attributes(of: result))
        if case .failure(let error) = result, error != .cancelled {
            span.recordError(error, attributes: [:], at: Self.instant(end))
            span.setStatus(SpanStatus(code: .error, message: error.problem))
        }
        for entry in operation.trace.entries {
            let name = "image \(entry.stage.rawValue)"
            // A failure has a URL in its text.
            let event = entry.message.replacing(/\?\S+/, with: "")
            let attributes: SpanAttributes = ["image.event": .string(event)]
            let began = Self.time(start, plus: entry.start)
            guard entry.duration > .zero else {
                span.addEvent(SpanEvent(name: name, at: Self.instant(began), attributes: attributes))
                continue
            }
            let stage = tracer.startSpan(
                name, context: span.context, ofKind: entry.stage == .transfer ? .client : .internal,
                at: Self.instant(began))
            stage.attributes.merge(attributes)
            stage.end(at: Self.instant(Self.time(began, plus: entry.duration)))
        }
        span.end(at: Self.instant(end))
    }

    private func attributes(of result: Result<WebImageResponse, WebImageError>) -> SpanAttributes {
        var address = URLComponents(url: operation.request.url, resolvingAgainstBaseURL: false)
        for part in [\URLComponents.user, \.password, \.query, \.fragment] { address?[keyPath: part] = nil }
        var attributes: SpanAttributes = ["url.full": .string(address?.string ?? "")]
        switch result {
        case .success(let response):
            attributes.set("image.origin", value: .string("\(response.origin)"))
            attributes.set("image.width", value: .int64(Int64(response.image.width)))
            attributes.set("image.height", value: .int64(Int64(response.image.height)))
        case .failure(let error):
            attributes.set("error.type", value: .int64(Int64(error.code)))
            if case .httpStatus(let status, _) = error {
                attributes.set("http.response.status_code", value: .int64(Int64(status)))
            }
        }
        return attributes
    }

    private static func time(_ time: UInt64, plus duration: Duration) -> UInt64 {
        UInt64(max(0, Int64(time) + Int64(duration / .nanoseconds(1))))
    }

    private static func instant(_ time: UInt64) -> DefaultTracerClock.Timestamp {
        DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: time)
    }
}
