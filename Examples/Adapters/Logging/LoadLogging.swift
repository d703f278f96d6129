// Loads of images in swift-log. Copy this file into your program, which needs the product WebImage.

import Foundation
import Logging
import WebImage

extension WebImageManager.Configuration {
    /// Logs how each load ends. A ``didFinish`` that is set already is called first.
    ///
    /// ```swift
    /// var configuration = WebImageManager.Configuration.server
    /// configuration.logLoads(to: Logger(label: "org.example.images"))
    /// ```
    ///
    /// The levels are those that swift-log asks of libraries:
    ///
    /// | level | event |
    /// |---|---|
    /// | trace | each stage of a load, and a cancelled load |
    /// | debug | a load that has ended, also one that has failed: what called it has the error |
    /// | info | a load that needed more than one attempt |
    ///
    /// Everything but the event is metadata. URLs are without user names, passwords and queries, which may have tokens. The
    /// level of the logger decides what is put together at all.
    mutating func logLoads(to logger: Logger) {
        let previous = didFinish
        didFinish = { operation, result in
            previous?(operation, result)
            guard logger.logLevel <= .info else { return }
            logger.logEnd(of: operation, result)
            if logger.logLevel <= .trace { logger.logStages(of: operation) }
        }
    }
}

extension Logger {
    fileprivate func logEnd(of operation: WebImageOperation, _ result: Result<WebImageResponse, WebImageError>) {
        var metadata = Self.metadata(of: operation)
        metadata["image.milliseconds"] = "\(Self.milliseconds(operation.elapsed))"
        switch result {
        case .success(let response):
            metadata["image.origin"] = "\(response.origin)"
            metadata["image.size"] = "\(response.image.pixels.size)"
            if let metrics = response.metrics { metadata["image.received.bytes"] = "\(metrics.wireByteCount)" }
            debug("Image loaded", metadata: metadata)
        case .failure(.cancelled): trace("Image load cancelled", metadata: metadata)
        case .failure(let error):
            metadata["error.code"] = "\(error.code)"
            metadata["error.message"] = "\(error.problem)"
            if case .httpStatus(let status, _) = error { metadata["http.status"] = "\(status)" }
            debug("Image not loaded", metadata: metadata)
        }
        guard operation.attempts.count > 1 else { return }
        metadata["image.attempts"] = "\(operation.attempts.count)"
        info("Image load repeated", metadata: metadata)
    }

    fileprivate func logStages(of operation: WebImageOperation) {
        for entry in operation.trace.entries {
            var metadata = Self.metadata(of: operation)
            metadata["stage.name"] = "\(entry.stage.rawValue)"
            metadata["stage.start.milliseconds"] = "\(Self.milliseconds(entry.start))"
            metadata["stage.milliseconds"] = "\(Self.milliseconds(entry.duration))"
            // A failure has a URL in its text.
            metadata["stage.event"] = "\(entry.message.replacing(/\?\S+/, with: ""))"
            trace("Image load stage", metadata: metadata)
        }
    }

    private static func metadata(of operation: WebImageOperation) -> Metadata {
        var address = URLComponents(url: operation.request.url, resolvingAgainstBaseURL: false)
        for part in [\URLComponents.user, \.password, \.query, \.fragment] { address?[keyPath: part] = nil }
        return ["image.url": "\(address?.string ?? "")"]
    }

    private static func milliseconds(_ duration: Duration) -> Double {
        (duration / .microseconds(1)).rounded() / 1000
    }
}
