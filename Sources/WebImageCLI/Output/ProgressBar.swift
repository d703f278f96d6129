internal import WebImageCore

/// Shows the progress of all loads of a command in one line at the bottom of the terminal.
final class ProgressBar: Sendable {
    private struct State {
        var fractions: [Double]
        var byteCounts: [Int64]
        var endedCount = 0
        var lastDrawn: ContinuousClock.Instant?
    }

    private let console: Console
    private let isHidden: Bool
    private let state: LockBox<State>

    init(count: Int, console: Console, isHidden: Bool = false) {
        self.console = console
        self.isHidden = isHidden
        state = LockBox(
            State(fractions: [Double](repeating: 0, count: count), byteCounts: [Int64](repeating: 0, count: count)))
    }

    /// Called when bytes have arrived for the load with that index.
    func update(_ index: Int, received: Int64, expected: Int64?) {
        draw { state in
            state.byteCounts[index] = received
            if let expected, expected > 0 { state.fractions[index] = min(1, Double(received) / Double(expected)) }
        }
    }

    /// Called when the load with that index has ended.
    func end(_ index: Int) {
        draw { state in
            state.fractions[index] = 1
            state.endedCount += 1
        }
    }

    /// Removes the line.
    func clear() { console.setBottomLine("") }

    /// Redraws at most ten times per second, which is enough for readers.
    private func draw(_ change: (inout State) -> Void) {
        guard console.showsProgress, !isHidden else { return }
        let line = state.withLock { state -> String? in
            change(&state)
            let now = ContinuousClock.now
            if let last = state.lastDrawn, now - last < .milliseconds(100) { return nil }
            state.lastDrawn = now
            return Self.line(state)
        }
        if let line { console.setBottomLine(line) }
    }

    private static func line(_ state: State) -> String {
        let width = 30
        let share = state.fractions.reduce(0, +) / Double(max(1, state.fractions.count))
        let filled = min(width, Int(share * Double(width)))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
        let bytes = ByteCount(Int(clamping: state.byteCounts.reduce(0, +)))
        return "[\(bar)] \(state.endedCount) of \(state.fractions.count), \(bytes)"
    }
}
