import Dispatch
import WebImageGTK

/// Does work on another thread, one piece at a time. Pieces that are requested meanwhile are skipped, except the
/// latest.
///
///     start(1) ─► body(1) ────────────► show(1) ─► body(3) ─► show(3)
///     start(2)       │ waits                          ▲
///     start(3)       └ replaces 2 ────────────────────┘
@MainActor final class LatestWork<Input: Equatable & Sendable, Output: Sendable> {
    private let body: @Sendable (Input) -> Output
    private let show: @MainActor (Input, Output) -> Void
    private var running: Input?
    private var waiting: Input?

    /// - Parameters:
    ///   - body: called on another thread.
    ///   - show: gets the result on the main thread.
    init(
        _ body: @escaping @Sendable (Input) -> Output, show: @escaping @MainActor (Input, Output) -> Void
    ) { (self.body, self.show) = (body, show) }

    var isIdle: Bool { running == nil }

    func start(_ input: Input) {
        if running == nil { run(input) } else { waiting = input }
    }

    private func run(_ input: Input) {
        running = input
        learnQueue.async { [weak self, body] in
            let output = body(input)
            MainLoop.callbackQueue.enqueue { MainActor.assumeIsolated { self?.finish(input, output) } }
        }
    }

    private func finish(_ input: Input, _ output: Output) {
        let next = waiting
        (running, waiting) = (nil, nil)
        show(input, output)
        if let next, next != input { run(next) }
    }
}

/// The threads of all pages that teach.
let learnQueue = DispatchQueue(label: "gallery-learn", qos: .utility, attributes: .concurrent)
