internal import ProgramSupport
internal import Synchronization

/// Shows the progress of all loads of a command in one line at the bottom of the terminal.
final class ProgressBar: Sendable {
    private struct State {
        var fractions: [Double]
        var byteCounts: [Int64]
        var expectedByteCounts: [Int64?]
        let start = ContinuousClock.now
        var endedCount = 0
        var lastDrawn: ContinuousClock.Instant?
    }

    private let console: Console
    private let isHidden: Bool
    private let state: Mutex<State>

    init(count: Int, console: Console, isHidden: Bool = false) {
        self.console = console
        self.isHidden = isHidden
        state = Mutex(
            State(
                fractions: [Double](repeating: 0, count: count), byteCounts: [Int64](repeating: 0, count: count),
                expectedByteCounts: [Int64?](repeating: nil, count: count)))
    }

    /// Called when bytes have arrived for the load with that index.
    func update(_ index: Int, received: Int64, expected: Int64?) {
        draw { state in
            state.byteCounts[index] = received
            state.expectedByteCounts[index] = expected
            if let expected, expected > 0 { state.fractions[index] = min(1, Double(received) / Double(expected)) }
        }
    }

    /// Called when the load with that index has ended.
    func end(_ index: Int) {
        draw { state in
            state.fractions[index] = 1
            // A load that has ended receives no more bytes.
            state.expectedByteCounts[index] = state.byteCounts[index]
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
        let share = state.fractions.reduce(0, +) / Double(max(1, state.fractions.count))
        let line = ProgressLine(
            share: share, endedCount: state.endedCount, count: state.fractions.count,
            byteCount: state.byteCounts.reduce(0, +),
            expectedByteCount: state.expectedByteCounts.contains(nil)
                ? nil : state.expectedByteCounts.reduce(0) { $0 + ($1 ?? 0) },
            seconds: (ContinuousClock.now - state.start).milliseconds / 1000
        )
        return localized(line.text)
    }
}

/// The text of the progress of some loads or conversions.
struct ProgressLine {
    /// How much is done, 0 to 1.
    var share: Double
    var endedCount: Int
    var count: Int
    /// The bytes that have arrived; 0 for a command that does not count them.
    var byteCount: Int64 = 0
    /// The bytes that will have arrived at the end, if all sizes are known.
    var expectedByteCount: Int64?
    /// Since the beginning.
    var seconds: Double

    /// For example `[###---] 3 of 6, 4.0 MiB of 8.0 MiB, 2.0 MiB/s, 2 s left`.
    var text: LocalizableText {
        let width = 30
        let filled = min(width, Int(share * Double(width)))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
        let number: LocalizableText = "\(endedCount) of \(count)"
        return .joined(["[\(bar)] \(number)"] + facts, by: ", ")
    }

    private var facts: [LocalizableText] {
        var facts: [LocalizableText] = []
        if byteCount > 0 {
            let received = Self.bytes(byteCount)
            facts.append(expectedByteCount.map { "\(received) of \(Self.bytes($0))" } ?? "\(received)")
        }
        // Before that, the numbers say nothing.
        guard seconds >= 1 else { return facts }
        if byteCount > 0 {
            facts.append("\(Self.bytes(Int64(Double(byteCount) / seconds)))/s")
        } else if endedCount > 0 {
            facts.append("\((Double(endedCount) / seconds * 10).rounded() / 10)/s")
        }
        if share > 0, share < 1 { facts.append("\(Self.duration(seconds / share * (1 - share))) left") }
        return facts
    }

    private static func bytes(_ count: Int64) -> String { ByteCount(Int(clamping: count)).description }

    /// For example `12 s`, `3:05 min` or `2:14 h`.
    static func duration(_ seconds: Double) -> String {
        let seconds = Int(min(seconds, 1e6).rounded(.up))
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        if seconds < 100 { return "\(seconds) s" }
        if seconds < 6_000 { return "\(seconds / 60):\(two(seconds % 60)) min" }
        return "\(seconds / 3_600):\(two(seconds / 60 % 60)) h"
    }
}
