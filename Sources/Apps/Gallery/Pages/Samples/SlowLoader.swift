import Dispatch
import FoundationEssentials
import ProgramSupport
import WebImageGTK

/// Delivers a photograph as a slow server would: in pieces over a few seconds.
///
///     slow:2500/known/100/1/file:///usr/share/backgrounds/…
///          │    │     │  │ └─ photograph
///          │    │     │  └─ any number, which tells loads apart
///          │    │     └─ how much is delivered, in percent; less than 100 stops there and never ends
///          │    └─ whether the length is known
///          └─ duration in milliseconds
struct SlowLoader: ImageLoader {
    static let scheme = "slow"
    private static let queue = DispatchQueue(label: "gallery-slow")
    private static let pieceCount = 25

    struct Plan: Sendable {
        var milliseconds = 2_500
        var isLengthKnown = true
        var percent = 100
        var number = 0
        var photograph: URL

        init(of photograph: URL) { self.photograph = photograph }

        init?(_ url: URL) {
            let parts = url.absoluteString.dropFirst(SlowLoader.scheme.count + 1)
                .split(separator: "/", maxSplits: 4, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 5, let milliseconds = Int(parts[0]), let percent = Int(parts[2]),
                let number = Int(parts[3]), let photograph = URL(string: parts[4])
            else { return nil }
            (self.milliseconds, self.percent, self.number, self.photograph) = (
                milliseconds, percent, number, photograph
            )
            isLengthKnown = parts[1] == "known"
        }

        var url: URL? {
            URL(
                string: "\(SlowLoader.scheme):\(milliseconds)/\(isLengthKnown ? "known" : "unknown")/\(percent)/"
                    + "\(number)/\(photograph.absoluteString)")
        }
    }

    func canLoad(_ url: URL) -> Bool { url.scheme == Self.scheme }
    func isCacheable(_ url: URL) -> Bool { false }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let delivery = Delivery(of: request.url, handler)
        Self.queue.async { delivery.begin() }
        return delivery
    }

    /// One load. The queue, which is serial, sends its events.
    private final class Delivery: LoaderTask {
        private let url: URL
        private let handler: @Sendable (LoaderEvent) -> Void
        private let state = LockedBox(State())

        private struct State {
            var data = Data()
            var plan: Plan?
            var sentCount = 0
            var isOver = false
        }

        init(of url: URL, _ handler: @escaping @Sendable (LoaderEvent) -> Void) {
            (self.url, self.handler) = (url, handler)
        }

        func begin() {
            guard let plan = Plan(url) else { return end(.failure(.invalidURL(url.absoluteString))) }
            do throws(WebImageError) {
                let image = try SampleFile.image(of: plan.photograph, width: 720, nil)
                let data = try CodecRegistry.shared.encode(image, as: .jpeg)
                state.withLock { ($0.data, $0.plan) = (data, plan) }
                send(
                    .response(LoaderResponse(url: url, expectedByteCount: plan.isLengthKnown ? Int64(data.count) : nil))
                )
                sendPiece()
            } catch {
                end(.failure(error))
            }
        }

        private func sendPiece() {
            let piece = state.withLock { state -> Data? in
                guard let plan = state.plan, !state.isOver else { return nil }
                let end = min(
                    state.data.count * plan.percent / 100, state.sentCount + state.data.count / pieceCount + 1)
                defer { state.sentCount = end }
                return state.data[state.sentCount..<end]
            }
            guard let piece, !piece.isEmpty else { return }
            send(.bytes(piece))
            let isComplete = state.withLock { state -> Bool in
                guard state.sentCount < state.data.count, let plan = state.plan else { return true }
                let pause = DispatchTimeInterval.milliseconds(plan.milliseconds / pieceCount)
                SlowLoader.queue.asyncAfter(deadline: .now() + pause) { [weak self] in self?.sendPiece() }
                return false
            }
            if isComplete { end(.success(())) }
        }

        private func send(_ event: LoaderEvent) {
            if state.withLock({ !$0.isOver }) { handler(event) }
        }

        private func end(_ result: Result<Void, WebImageError>) {
            let isFirst = state.withLock { state in
                defer { state.isOver = true }
                return !state.isOver
            }
            if isFirst { handler(.finished(result)) }
        }

        func cancel() { SlowLoader.queue.async { self.end(.failure(.cancelled)) } }
        func setPriority(_ priority: LoadPriority) {}
    }
}
