import WebImageGTK

/// The bars of a load on a time axis.
///
///     memory │▏
///     disk   │▏▇
///     load   │  ▇▇▇▇▇▇▇▇▇▇▇▇▇
///       connect│▇▇
///       wait │    ▇▇▇▇▇
///       body │         ▇▇▇▇▇▇
///     decode │               ▇▇▇
struct TraceTimeline: Equatable, Sendable {
    struct Bar: Equatable, Sendable {
        let kind: Kind
        let title: String
        /// In seconds from the start of the request; negative for shared work that was already in progress.
        let start: Double
        /// In seconds; 0 for a decision.
        let duration: Double
        /// A sentence about the event.
        var fact = ""
        /// 0 for a stage, 1 for a part of it, 2 for a part of that.
        var level = 0

        var end: Double { start + duration }
    }

    /// The kind of a bar, which determines its color.
    enum Kind: Equatable, Sendable {
        case stage(LoadTrace.Stage)
        case exchange
        case queue, nameLookup, connect, secure, wait, body

        var color: ChartColor {
            switch self {
            case .stage(.memory), .stage(.disk): .green
            case .stage(.policy), .stage(.validation), .queue: .gray
            case .stage(.transfer), .exchange, .body: .blue
            case .stage(.retry): .red
            case .stage(.store): .brown
            case .stage(.decode), .connect: .orange
            case .stage(.process), .secure: .purple
            case .nameLookup: .yellow
            case .wait: .green
            }
        }
    }

    let bars: [Bar]
    /// The ends of the axis, in seconds; it includes 0.
    let start, end: Double

    init(_ trace: LoadTrace, transfers: [LoadTransfer] = []) {
        bars = trace.entries.flatMap { entry in
            let transfer = transfers.first {
                entry.stage == .transfer && $0.start == entry.start && $0.duration == entry.duration
            }
            let bar = Bar(
                kind: .stage(entry.stage), title: entry.stage.title, start: entry.start / .seconds(1),
                duration: entry.duration / .seconds(1), fact: entry.sentence)
            return [bar] + (transfer.map(Self.parts) ?? [])
        }
        start = min(0, bars.map(\.start).min() ?? 0)
        // Not 0, so that there is an axis.
        end = max(start + 1e-6, bars.map(\.end).max() ?? 0)
    }

    /// Whether the load joined work that was already in progress. Loads that start together do not count.
    var hasJoined: Bool { start < -0.001 }

    /// The bars of the exchanges of a transfer.
    private static func parts(of transfer: LoadTransfer) -> [Bar] {
        let metrics = transfer.metrics
        // The metrics are those of the last attempt.
        let origin = (transfer.start + transfer.duration - metrics.totalDuration) / .seconds(1)
        var (bars, end): ([Bar], Double) = ([], origin)
        for (index, exchange) in metrics.exchanges.enumerated() {
            let start = max(end, origin + exchange.startDuration.inSeconds)
            let hasSeveral = metrics.exchanges.count > 1
            if start - end > shortestQueue {
                bars.append(
                    Bar(
                        kind: .queue, title: localized("Queue"), start: end, duration: start - end,
                        fact: localized("Waited for a free connection."), level: 1))
            }
            if hasSeveral {
                let isRedirect = index < metrics.exchanges.count - 1
                let url = exchange.url.absoluteString
                bars.append(
                    Bar(
                        kind: .exchange,
                        title: isRedirect
                            ? localized("Request {number}", ["number": index + 1]) : localized("Last request"),
                        start: start,
                        duration: exchange.totalDuration.inSeconds,
                        fact: exchange.statusCode.map {
                            localized("Status {status} from {url}", ["status": $0, "url": url])
                        } ?? url, level: 1))
            }
            bars += phases(of: exchange, from: start, level: hasSeveral ? 2 : 1)
            end = start + exchange.totalDuration.inSeconds
        }
        return bars
    }

    /// In seconds. Shorter waits are the time that it takes to start an exchange.
    private static let shortestQueue = 0.0005

    private static func phases(
        of exchange: LoaderMetrics.Exchange, from start: Double, level: Int
    ) -> [Bar] {
        var (bars, time): ([Bar], Double) = ([], start)
        func add(_ kind: Kind, _ title: String, _ duration: Double, _ fact: String) {
            guard duration > 0 else { return }
            bars.append(Bar(kind: kind, title: title, start: time, duration: duration, fact: fact, level: level))
            time += duration
        }
        let host = exchange.url.host() ?? ""
        let address =
            exchange.remoteAddress.map { address in
                exchange.remotePort.map { localized("{address} port {port}", ["address": address, "port": $0]) }
                    ?? address
            } ?? host
        add(.nameLookup, "DNS", exchange.nameLookupDuration.inSeconds, host)
        add(.connect, localized("Connect"), exchange.connectDuration.inSeconds, address)
        add(
            .secure, "TLS", exchange.secureDuration.inSeconds,
            exchange.security.map { "\($0.version), \($0.cipher)" } ?? localized("Handshake"))
        let total = start + exchange.totalDuration.inSeconds
        let hasAnswer = exchange.firstByteDuration > .zero
        let firstByte = hasAnswer ? start + exchange.firstByteDuration.inSeconds : total
        add(
            .wait, hasAnswer ? localized("First byte") : localized("No response"), firstByte - time,
            exchange.isConnectionReused ? localized("On an existing connection") : localized("On a new connection"))
        if hasAnswer {
            add(
                .body, localized("Body"), total - time,
                localized("{size} on the wire", ["size": Amount.bytes(exchange.bodyByteCount)]))
        }
        return bars
    }

    /// Returns round times on the axis, at most `count` and with the same distance.
    func ticks(atMost count: Int) -> [Double] {
        let length = end - start
        guard count > 0, length > 0 else { return [] }
        var step = 1e-9
        for factor in [2, 2.5, 2].cycled(times: 15) {
            if length / step <= Double(count) { break }
            step *= factor
        }
        // The first multiple within the axis.
        let first = Int((start / step).rounded(.up))
        let last = Int((end / step + 1e-9).rounded(.down))
        return first > last ? [] : (first...last).map { Double($0) * step }
    }
}

extension Array {
    fileprivate func cycled(times: Int) -> [Element] { (0..<times).flatMap { _ in self } }
}

extension LoadTrace.Stage {
    var title: String {
        switch self {
        case .memory: localized("Memory")
        case .disk: localized("Disk")
        case .policy: localized("Policy")
        case .transfer: localized("Load")
        case .retry: localized("Retry")
        case .validation: localized("Validation")
        case .store: localized("Store")
        case .decode: localized("Decode")
        case .process: localized("Process")
        }
    }
}

extension LoadTrace.Entry {
    /// The message as a sentence.
    var sentence: String {
        // The name of a policy and a URL stay as they are.
        let isName = stage == .policy || message.prefix { $0 != " " }.contains("://")
        let text = isName ? message : message.prefix(1).uppercased() + message.dropFirst()
        return text.isEmpty || text.hasSuffix(".") ? text : text + "."
    }
}
