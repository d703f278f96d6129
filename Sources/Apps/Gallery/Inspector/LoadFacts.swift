import FoundationEssentials
import Glibc
import WebImageGTK

/// The facts of a load, as groups for the inspector.
enum LoadFacts {
    /// The result in one line: where the image came from, its size, the bytes and the time.
    ///
    /// - Parameter size: that of the image in its file, in pixels; `nil` while it is unknown. The load may have been for a smaller one.
    static func summary(of record: LoadRecord, size: PixelSize? = nil) -> String {
        let duration = Amount.duration(record.date.timeIntervalSince(record.start))
        if record.error != nil { return "Failed after \(duration)" }
        var parts = [origin(of: record)]
        if let size = size ?? (record.isReduced ? nil : record.size) {
            parts.append("\(size.width) × \(size.height) pixels")
        }
        if record.byteCount > 0 { parts.append(Amount.bytes(record.byteCount)) }
        parts.append(duration)
        if record.isIncomplete { parts.append("Incomplete") }
        return parts.joined(separator: " · ")
    }

    private static func origin(of record: LoadRecord) -> String {
        switch record.source {
        case .memory: "From memory"
        case .disk: "From the disk cache"
        case .network: "From the network"
        case .file: record.url.isFileURL ? "From a file" : "Made by the program"
        case .failed: "Failed"
        }
    }

    /// The error, advice and the attempts; `nil` for a load without an error or a second attempt.
    static func failure(_ error: WebImageError?, attempts: [LoadAttempt]) -> FactGroup? {
        guard error != nil || attempts.count > 1 else { return nil }
        var facts: [Fact] = []
        if let error {
            facts.append(Fact("What happened", error.errorDescription ?? error.description))
            if let advice = error.galleryAdvice { facts.append(Fact("What to do", advice)) }
            facts.append(Fact("For developers", "WebImageError with code \(error.code)"))
        }
        if attempts.count > 1 { facts += attempts.map(fact) }
        return FactGroup(title: error == nil ? "Attempts" : "Failure", facts: facts)
    }

    private static func fact(of attempt: LoadAttempt) -> Fact {
        var parts: [String] = []
        switch attempt.wait {
        case .none: break
        case .backoff(let wait): parts.append("After a wait of \(Amount.duration(wait.inSeconds)).")
        case .retryAfter(let wait):
            parts.append("After a wait of \(Amount.duration(wait.inSeconds)), as the server requested.")
        case .connectivity(let wait):
            parts.append("After \(wait.map { Amount.duration($0.inSeconds) } ?? "a wait") without a network.")
        }
        if let duration = attempt.duration { parts.append("Took \(Amount.duration(duration.inSeconds)).") }
        parts.append(attempt.error.map { $0.errorDescription ?? $0.description } ?? "Succeeded.")
        return Fact("Attempt \(attempt.number)", parts.joined(separator: " "))
    }

    /// Which cache answered, and why the others did not.
    static func caches(_ record: LoadRecord) -> FactGroup {
        let trace = record.trace
        func sentences(_ stage: LoadTrace.Stage) -> String {
            trace.entries.filter { $0.stage == stage }.map(\.sentence).joined(separator: " ")
        }
        var facts: [Fact] = []
        let isFromMemory = record.source == .memory
        let memory = sentences(.memory)
        facts.append(
            Fact(
                "Memory: " + (isFromMemory ? "hit" : "miss"),
                memory.isEmpty
                    ? isFromMemory
                        ? "The image was made from one in memory." : noMemory(record.policy) : memory))
        let disk = sentences(.disk)
        if !disk.isEmpty {
            facts.append(Fact("Disk: " + (record.source == .disk ? "hit" : "miss"), disk))
        }
        for (stage, title) in [(LoadTrace.Stage.policy, "Policy"), (.validation, "Validation"), (.store, "Storing")] {
            let text = sentences(stage)
            if !text.isEmpty { facts.append(Fact(title, text)) }
        }
        return FactGroup(title: "Caches", description: "Which cache had the image, and why", facts: facts)
    }

    private static func noMemory(_ policy: CachePolicy) -> String {
        policy == .reload ? "This policy does not use it." : "It had no usable image of this size."
    }
}

/// The facts of a transfer.
extension LoadFacts {
    static func transfer(_ metrics: LoaderMetrics) -> [FactGroup] {
        guard let last = metrics.exchanges.last else { return [] }
        var groups = [FactGroup(title: "Transfer", facts: connection(last) + totals(metrics))]
        if metrics.redirectCount > 0 {
            groups.append(
                FactGroup(
                    title: "Redirects",
                    facts: metrics.exchanges.map { exchange in
                        Fact(exchange.statusCode.map { "Status \($0)" } ?? "No response", exchange.url.absoluteString)
                    }))
        }
        if let security = last.security { groups.append(self.security(security)) }
        groups.append(headers("Request headers", last.requestHeaders))
        groups.append(headers("Response headers", last.responseHeaders))
        return groups
    }

    private static func connection(_ exchange: LoaderMetrics.Exchange) -> [Fact] {
        var facts: [Fact] = []
        if let status = exchange.statusCode { facts.append(Fact("Status", "\(status)")) }
        if let version = exchange.httpVersion { facts.append(Fact("HTTP version", version.rawValue)) }
        if let address = exchange.remoteAddress {
            facts.append(Fact("Server", address + (exchange.remotePort.map { ", port \($0)" } ?? "")))
        }
        facts.append(Fact("Connection", exchange.isConnectionReused ? "Reused" : "New"))
        return facts
    }

    private static func totals(_ metrics: LoaderMetrics) -> [Fact] {
        var facts = [Fact("Bytes on the wire", Amount.bytes(metrics.wireByteCount))]
        if metrics.decodedByteCount > 0 {
            facts.append(Fact("Bytes of the file", Amount.bytes(metrics.decodedByteCount)))
        }
        facts.append(Fact("Time", Amount.duration(metrics.totalDuration.inSeconds)))
        facts.append(Fact("Time in the queue", Amount.duration(metrics.queueDuration.inSeconds)))
        let seconds = metrics.activeDuration.inSeconds
        if seconds > 0, metrics.wireByteCount > 0 {
            facts.append(Fact("Speed", Amount.bytes(Int(Double(metrics.wireByteCount) / seconds)) + "/s"))
        }
        return facts
    }

    private static func security(_ security: LoaderMetrics.Security) -> FactGroup {
        var facts = [Fact("Version", security.version), Fact("Cipher", security.cipher)]
        if let certificate = security.certificate {
            facts.append(Fact("Certificate", certificate.subject.isEmpty ? "Unnamed" : certificate.subject))
            facts.append(Fact("Issued by", certificate.issuer.isEmpty ? "Unknown" : certificate.issuer))
            facts.append(Fact("Valid until", DateText.text(certificate.expires)))
        }
        return FactGroup(title: "Encryption", facts: facts)
    }

    static func headers(_ title: String, _ fields: [HTTPHeader]) -> FactGroup {
        FactGroup(
            title: title, description: Amount.counted(fields.count, "field", "fields"),
            facts: fields.map { Fact($0.name, $0.value.isEmpty ? "(empty)" : $0.value) }, isFolded: true)
    }
}
