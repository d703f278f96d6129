import FoundationEssentials
import WebImage
import WebImageTestSupport

/// The source of a stress test: images by number, in editions that change, with faults that a seed draws.
///
/// The fate of the n-th transfer of an image depends on the seed alone, not on the threads.
final class StressOrigin: StressSource, ImageLoader {
    /// The fault of a transfer.
    enum Fault: CaseIterable {
        case none, reset, resetMidway, cut, cutUnnoticed, garbage, missing, unavailable, stall, stallMidway
    }

    private struct State {
        var editions: [Int: Int] = [:]
        var transferCounts: [Int: Int] = [:]
        /// The transfers, whole or in part, by number and edition.
        var bodies: [Int: [Int: Data]] = [:]
        var running: [ObjectIdentifier: StressTransfer] = [:]
        var stalled: [ObjectIdentifier: StressTransfer] = [:]
        var faultCounts: [Fault: Int] = [:]
        var confirmedCount = 0
        var mayStall = true
    }

    private let queue = WorkQueue(label: "stress-origin", threadCount: 3)
    private let seed: UInt64
    private let state = LockBox(State())

    init(seed: UInt64) { self.seed = seed }

    var loader: any ImageLoader { self }

    func url(_ number: Int) throws -> URL {
        guard let url = URL(string: "stress://host/\(number)") else { throw WebImageError.invalidURL("\(number)") }
        return url
    }

    // MARK: What it has

    func isSound(_ number: Int) -> Bool { number % 4 == 0 }
    func isForbidden(_ number: Int) -> Bool { number % 16 == 6 }
    func mayBeCutUnnoticed(_ number: Int) -> Bool { number % 3 == 1 }
    func neverEnds(_ number: Int) -> Bool { false }

    func publish(_ number: Int) {
        state.withLock { $0.editions[number] = ($0.editions[number, default: 0] + 1) % StressPicture.editionCount }
    }

    func hasSent(_ number: Int, edition: Int) -> Bool { state.withLock { $0.bodies[number]?[edition] != nil } }

    func hasSent(_ data: Data, as number: Int, edition: Int?) -> Bool {
        let bodies = state.withLock { $0.bodies[number] ?? [:] }
        return edition.map { bodies[$0] == data } ?? bodies.values.contains(data)
    }

    var runningCount: Int { state.withLock { $0.running.count } }
    var faultCounts: [Fault: Int] { state.withLock { $0.faultCounts } }
    var confirmedCount: Int { state.withLock { $0.confirmedCount } }

    var stalledNumbers: Set<Int> { state.withLock { Set($0.stalled.values.map(\.number)) } }

    func setMayStall(_ mayStall: Bool) {
        let stalled = state.withLock { state in
            state.mayStall = mayStall
            return mayStall ? [] : Array(state.stalled.values)
        }
        for transfer in stalled { transfer.goOn() }
    }

    func settle() async throws { try await queue.finishWhatWaits() }

    // MARK: As a loader

    func canLoad(_ url: URL) -> Bool { url.scheme == "stress" }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let number = StressPicture.number(of: request.url) ?? 0
        var random = state.withLock { state in
            let count = state.transferCounts[number, default: 0]
            state.transferCounts[number] = count + 1
            return SplitMix64(seed: seed ^ UInt64(number) << 32 ^ UInt64(count))
        }
        let fault = isSound(number) ? .none : Self.fault(using: &random)
        let script = script(for: request, number: number, fault, using: &random)
        let transfer = StressTransfer(number: number, script: script, origin: self, handler: handler)
        state.withLock { state in
            state.faultCounts[fault, default: 0] += 1
            state.running[ObjectIdentifier(transfer)] = transfer
        }
        // Inside the call, as a loader without a thread does, or later.
        if Int.random(in: 0..<8, using: &random) == 0 { transfer.run() } else { queue.submit { transfer.run() } }
        return transfer
    }

    private static func fault(using random: inout SplitMix64) -> Fault {
        Int.random(in: 0..<5, using: &random) < 3 ? .none : Fault.allCases.randomElement(using: &random) ?? .none
    }

    private func script(
        for request: LoaderRequest, number: Int, _ fault: Fault, using random: inout SplitMix64
    ) -> [StressTransfer.Step] {
        let edition = state.withLock { $0.editions[number, default: 0] }
        let (url, tag) = (request.url, "\"\(number)-\(edition)\"")
        func head(_ status: Int, _ length: Int? = nil) -> LoaderResponse {
            LoaderResponse(
                url: url, statusCode: status, headers: self.headers(number, tag: tag),
                expectedByteCount: length.map { Int64($0) })
        }
        func refusal(_ status: Int) -> [StressTransfer.Step] {
            let response = LoaderResponse(url: url, statusCode: status)
            return [.event(.refused(response)), .end(.failure(.httpStatus(code: status, url: url)))]
        }
        let reset = StressTransfer.Step.end(.failure(.transport(code: 56, message: "reset", url: url)))
        if fault == .reset { return [reset] }
        if fault == .missing { return refusal(404) }
        if fault == .unavailable { return refusal(503) }
        if fault == .garbage {
            let page = Data("<!doctype html><title>Number \(number)</title>".utf8)
            return [.event(.response(head(200, page.count))), .event(.bytes(page)), .end(.success(()))]
        }
        if fault != .stall, request.headers["If-None-Match"] == tag {
            state.withLock { $0.confirmedCount += 1 }
            return [.event(.response(head(304))), .end(.success(()))]
        }
        let data = body(number, edition: edition)
        let pieces = Self.pieces(of: data, count: Int.random(in: 1...4, using: &random))
        let half = [StressTransfer.Step.event(.bytes(data.prefix(data.count / 2)))]
        let (known, unknown) = (
            StressTransfer.Step.event(.response(head(200, data.count))),
            StressTransfer.Step.event(.response(head(200)))
        )
        let rest = Data(data.dropFirst(data.count / 2))
        switch fault {
        case .resetMidway: return [known] + half + [reset]
        case .cut:
            let error = WebImageError.invalidResponse(
                reason: .truncated(expected: Int64(data.count), received: Int64(data.count / 2)), url: url)
            return [known] + half + [.end(.failure(error))]
        case .cutUnnoticed where mayBeCutUnnoticed(number): return [unknown] + half + [.end(.success(()))]
        case .stall: return [.stall, known, .event(.bytes(data)), .end(.success(()))]
        case .stallMidway: return [unknown] + half + [.stall, .event(.bytes(rest)), .end(.success(()))]
        default:
            let isLengthKnown = Bool.random(using: &random)
            return [isLengthKnown ? known : unknown] + pieces.map { .event(.bytes($0)) } + [.end(.success(()))]
        }
    }

    private func headers(_ number: Int, tag: String) -> [HTTPHeader] {
        let rule =
            switch number % 16 {
            case _ where isForbidden(number): "no-store"
            case 0..<4: "max-age=0"
            case 4..<8: "max-age=20, stale-while-revalidate=600, stale-if-error=600"
            case 8..<12: "no-cache"
            default: "max-age=3600"
            }
        return [HTTPHeader(name: "ETag", value: tag), HTTPHeader(name: "Cache-Control", value: rule)]
    }

    private func body(_ number: Int, edition: Int) -> Data {
        if let data = state.withLock({ $0.bodies[number]?[edition] }) { return data }
        let data = (try? StressPicture(number: number, edition: edition).data()) ?? Data()
        // Another thread may have been as fast, and has the same.
        state.withLock { $0.bodies[number, default: [:]][edition] = data }
        return data
    }

    private static func pieces(of data: Data, count: Int) -> [Data] {
        let length = (data.count + count - 1) / count
        return stride(from: 0, to: data.count, by: length).map { Data(data[$0..<min($0 + length, data.count)]) }
    }

    // MARK: For transfers

    fileprivate func submit(_ transfer: StressTransfer) { queue.submit { transfer.run() } }

    /// Whether the transfer is to wait until it is told to go on.
    fileprivate func stall(_ transfer: StressTransfer) -> Bool {
        state.withLock { state in
            if state.mayStall { state.stalled[ObjectIdentifier(transfer)] = transfer }
            return state.mayStall
        }
    }

    /// Whether it stood still; it does not any more.
    fileprivate func wake(_ transfer: StressTransfer) -> Bool {
        state.withLock { $0.stalled.removeValue(forKey: ObjectIdentifier(transfer)) } != nil
    }

    fileprivate func end(_ transfer: StressTransfer) {
        _ = state.withLock { $0.running.removeValue(forKey: ObjectIdentifier(transfer)) }
    }
}

/// One transfer: tells its script, each step in a turn of its own, so that others come in between.
final class StressTransfer: LoaderTask {
    enum Step {
        case event(LoaderEvent)
        case stall
        case end(Result<Void, WebImageError>)
    }

    let number: Int
    private let origin: StressOrigin
    private let handler: @Sendable (LoaderEvent) -> Void
    private let state: LockBox<State>

    private struct State {
        var script: ArraySlice<Step>
        var isCancelled = false

        /// The next event; `nil` after the last.
        mutating func next() -> Step? {
            guard isCancelled, !script.isEmpty else { return script.popFirst() }
            script = []
            return .end(.failure(.cancelled))
        }
    }

    init(
        number: Int, script: [Step], origin: StressOrigin, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) {
        self.number = number
        self.origin = origin
        self.handler = handler
        state = LockBox(State(script: script[...]))
    }

    /// One step; the next is in the queue when it returns, unless it has ended or stands still.
    func run() {
        switch state.withLock({ $0.next() }) {
        case .event(let event):
            handler(event)
            origin.submit(self)
        case .stall:
            guard origin.stall(self) else { return origin.submit(self) }
            // A cancel that came before found nothing to wake.
            if state.withLock({ $0.isCancelled }) { goOn() }
        case .end(let result):
            origin.end(self)
            handler(.finished(result))
        case nil: break
        }
    }

    /// Ends a standstill.
    func goOn() { if origin.wake(self) { origin.submit(self) } }

    func cancel() {
        state.withLock { $0.isCancelled = true }
        goOn()
    }

    func setPriority(_ priority: LoadPriority) {}
}
