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
        if record.error != nil { return localized("Failed after {time}", ["time": duration]) }
        var parts = [origin(of: record)]
        if let size = size ?? (record.isReduced ? nil : record.size) {
            parts.append(localized("{width} × {height} pixels", ["width": size.width, "height": size.height]))
        }
        if record.byteCount > 0 { parts.append(Amount.bytes(record.byteCount)) }
        parts.append(duration)
        if record.isIncomplete { parts.append(localized("Incomplete")) }
        return parts.joined(separator: " · ")
    }

    private static func origin(of record: LoadRecord) -> String {
        switch record.source {
        case .memory: localized("From memory")
        case .disk: localized("From the disk cache")
        case .network: localized("From the network")
        case .file: record.url.isFileURL ? localized("From a file") : localized("Made by the program")
        case .failed: localized("Failed")
        }
    }

    /// The error, advice and the attempts; `nil` for a load without an error or a second attempt.
    static func failure(_ error: WebImageError?, attempts: [LoadAttempt]) -> FactGroup? {
        guard error != nil || attempts.count > 1 else { return nil }
        var facts: [Fact] = []
        if let error {
            facts.append(Fact(localized("What happened"), error.sentence(in: texts)))
            if let advice = error.galleryAdvice { facts.append(Fact(localized("What to do"), advice)) }
            facts.append(
                Fact(localized("For developers"), localized("WebImageError with code {code}", ["code": error.code])))
        }
        if attempts.count > 1 { facts += attempts.map(fact) }
        return FactGroup(title: error == nil ? localized("Attempts") : localized("Failure"), facts: facts)
    }

    private static func fact(of attempt: LoadAttempt) -> Fact {
        var parts: [String] = []
        switch attempt.wait {
        case .none: break
        case .backoff(let wait):
            parts.append(localized("After a wait of {time}.", ["time": Amount.duration(wait.inSeconds)]))
        case .retryAfter(let wait):
            parts.append(
                localized(
                    "After a wait of {time}, as the server requested.", ["time": Amount.duration(wait.inSeconds)]))
        case .connectivity(nil): parts.append(localized("After a wait without a network."))
        case .connectivity(.some(let wait)):
            parts.append(localized("After {time} without a network.", ["time": Amount.duration(wait.inSeconds)]))
        }
        if let duration = attempt.duration {
            parts.append(localized("Took {time}.", ["time": Amount.duration(duration.inSeconds)]))
        }
        parts.append(attempt.error.map { $0.sentence(in: texts) } ?? localized("Succeeded."))
        return Fact(localized("Attempt {number}", ["number": attempt.number]), parts.joined(separator: " "))
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
                isFromMemory ? localized("Memory: hit") : localized("Memory: miss"),
                memory.isEmpty
                    ? isFromMemory
                        ? localized("The image was made from one in memory.") : noMemory(record.policy) : memory))
        let disk = sentences(.disk)
        if !disk.isEmpty {
            facts.append(Fact(record.source == .disk ? localized("Disk: hit") : localized("Disk: miss"), disk))
        }
        for (stage, title) in [
            (LoadTrace.Stage.policy, localized("Policy")), (.validation, localized("Validation")),
            (.store, localized("Storing")),
        ] {
            let text = sentences(stage)
            if !text.isEmpty { facts.append(Fact(title, text)) }
        }
        return FactGroup(
            title: localized("Caches"), description: localized("Which cache had the image, and why"), facts: facts)
    }

    private static func noMemory(_ policy: CachePolicy) -> String {
        policy == .reload
            ? localized("This policy does not use it.") : localized("It had no usable image of this size.")
    }
}

/// The facts of a transfer.
extension LoadFacts {
    static func transfer(_ metrics: LoaderMetrics) -> [FactGroup] {
        guard let last = metrics.exchanges.last else { return [] }
        var groups = [FactGroup(title: localized("Transfer"), facts: connection(last) + totals(metrics))]
        if metrics.redirectCount > 0 {
            groups.append(
                FactGroup(
                    title: localized("Redirects"),
                    facts: metrics.exchanges.map { exchange in
                        Fact(
                            exchange.statusCode.map { localized("Status {status}", ["status": $0]) }
                                ?? localized("No response"), exchange.url.absoluteString)
                    }))
        }
        if let security = last.security { groups.append(self.security(security)) }
        groups.append(headers(localized("Request headers"), last.requestHeaders))
        groups.append(headers(localized("Response headers"), last.responseHeaders))
        return groups
    }

    private static func connection(_ exchange: LoaderMetrics.Exchange) -> [Fact] {
        var facts: [Fact] = []
        if let status = exchange.statusCode { facts.append(Fact(localized("Status"), "\(status)")) }
        if let version = exchange.httpVersion { facts.append(Fact(localized("HTTP version"), version.rawValue)) }
        if let address = exchange.remoteAddress {
            facts.append(
                Fact(
                    localized("Server"),
                    exchange.remotePort.map { localized("{address}, port {port}", ["address": address, "port": $0]) }
                        ?? address))
        }
        facts.append(
            Fact(localized("Connection"), exchange.isConnectionReused ? localized("Reused") : localized("New")))
        return facts
    }

    private static func totals(_ metrics: LoaderMetrics) -> [Fact] {
        var facts = [Fact(localized("Bytes on the wire"), Amount.bytes(metrics.wireByteCount))]
        if metrics.decodedByteCount > 0 {
            facts.append(Fact(localized("Bytes of the file"), Amount.bytes(metrics.decodedByteCount)))
        }
        facts.append(Fact(localized("Time"), Amount.duration(metrics.totalDuration.inSeconds)))
        facts.append(Fact(localized("Time in the queue"), Amount.duration(metrics.queueDuration.inSeconds)))
        let seconds = metrics.activeDuration.inSeconds
        if seconds > 0, metrics.wireByteCount > 0 {
            facts.append(Fact(localized("Speed"), Amount.rate(Double(metrics.wireByteCount) / seconds)))
        }
        return facts
    }

    private static func security(_ security: LoaderMetrics.Security) -> FactGroup {
        var facts = [Fact(localized("Version"), security.version), Fact(localized("Cipher"), security.cipher)]
        if let certificate = security.certificate {
            facts.append(
                Fact(localized("Certificate"), certificate.subject.isEmpty ? localized("Unnamed") : certificate.subject)
            )
            facts.append(
                Fact(localized("Issued by"), certificate.issuer.isEmpty ? localized("Unknown") : certificate.issuer))
            facts.append(Fact(localized("Valid until"), DateText.text(certificate.expires)))
        }
        return FactGroup(title: localized("Encryption"), facts: facts)
    }

    static func headers(_ title: String, _ fields: [HTTPHeader]) -> FactGroup {
        FactGroup(
            title: title, description: counted("{count} field", "{count} fields", count: fields.count),
            facts: fields.map { Fact($0.name, $0.value.isEmpty ? "(empty)" : $0.value) }, isFolded: true)
    }
}
