import Testing
import WebImageCore

@testable import WebImageAnimation

/// A player on a manual clock whose frames are decoded when the test says so, and what it tells.
final class PlayerFixture: Sendable {
    let clock: ManualTimerClock
    let work: ManualWork
    let pools: FramePools
    let player: AnimationPlayer
    private let told = Lock<[AnimationPlayer.Event]>([])
    private let decodesAtOnce: Bool

    /// - Parameters:
    ///   - decodesAtOnce: whether every frame wanted is there at the next step, as on a fast machine.
    ///   - beside: another player with which this one shares its clock and its pools.
    init(
        _ source: any AnimationSource, configuration: AnimationPlayer.Configuration = .init(), capacity: Int? = nil,
        decodesAtOnce: Bool = true, pressureSource: (any MemoryPressureSource)? = nil,
        beside other: PlayerFixture? = nil
    ) throws {
        let work = other?.work ?? ManualWork()
        self.work = work
        clock = other?.clock ?? ManualTimerClock()
        pools =
            other?.pools
            ?? FramePools(
                byteLimit: capacity.map { $0 * NumberedSource.frameByteCount } ?? 1 << 30,
                pressureSource: pressureSource, submit: work.submit)
        self.decodesAtOnce = decodesAtOnce
        player = AnimationPlayer(try AnimatedImage(source), configuration: configuration, clock: clock, pools: pools)
        player.onEvent = { [told] event in told.withLock { $0.append(event) } }
    }

    var events: [AnimationPlayer.Event] { told.withLock { $0 } }

    /// The frames told since the last call, by the number in their pixels, which is compared.
    func frames() -> [Int] {
        told.withLock { events in
            defer { events.removeAll { if case .frame = $0 { true } else { false } } }
            return events.compactMap { event in
                guard case .frame(let index, let pixels) = event else { return nil }
                #expect(NumberedSource.number(of: pixels) == index)
                return index
            }
        }
    }

    /// Everything told since the last call, in words.
    func story() -> String {
        told.withLock { events in
            defer { events = [] }
            return events.map { event in
                switch event {
                case .frame(let index, _): "\(index)"
                case .loopEnded(let count): "loop\(count)"
                case .finished: "end"
                case .frameFailed(let index, _): "failed\(index)"
                }
            }.joined(separator: " ")
        }
    }

    /// Lets time pass in steps of a tenth of a second, which is a frame unless the source says otherwise.
    func advance(_ stepCount: Int = 1) {
        settle()
        for _ in 0..<stepCount {
            clock.advance(by: .milliseconds(100))
            settle()
        }
    }

    /// Makes all calls that are due, and decodes what is wanted, if frames are to be there at once.
    func settle() {
        clock.advance()
        guard decodesAtOnce else { return }
        while work.count > 0 {
            work.runAll()
            clock.advance()
        }
    }
}
