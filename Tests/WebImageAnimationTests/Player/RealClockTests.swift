import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageAnimation

/// Everything as a user has it: the system's clock, the threads for decoding.
@Suite struct RealClockTests {
    @Test func twentyPlayersOfOneAnimationPlayToTheEnd() async throws {
        let source = NumberedSource(30, durations: [Double](repeating: 0.011, count: 30), loopCount: 2)
        let image = try AnimatedImage(source)
        let pools = FramePools(byteLimit: 1 << 20, pressureSource: nil)
        let clock = MonotonicTimerClock()
        let finished = Countdown(20)
        let shown = Lock<[Int: [Int]]>([:])
        let players = (0..<20).map { number in
            let player = AnimationPlayer(
                image, configuration: .init(latePolicy: .slowDown), clock: clock, pools: pools)
            player.onEvent = { event in
                switch event {
                case .frame(let index, _): shown.withLock { $0[number, default: []].append(index) }
                case .finished: finished.signal()
                default: break
                }
            }
            return player
        }
        for player in players { player.play() }
        try await finished.wait()
        #expect(source.log.asked == Array(0..<30), "each frame once")
        for number in 0..<20 {
            #expect(shown.withLock { $0[number] } == Array(0..<30) + Array(0..<30))
        }
        #expect(players.allSatisfy { $0.completedLoopCount == 2 })
    }

    /// Nothing is lost, stuck or told by two threads at once, whoever calls what.
    @Test func controlFromManyThreadsLeavesAPlayerThatPlays() async throws {
        let source = NumberedSource(20, durations: [Double](repeating: 0.011, count: 20), keyframes: [0, 7, 13])
        let pools = FramePools(byteLimit: 6 * NumberedSource.frameByteCount, pressureSource: nil)
        let clock = MonotonicTimerClock()
        let image = try AnimatedImage(source)
        let player = AnimationPlayer(image, configuration: .init(loopLimit: .endless), clock: clock, pools: pools)
        let isInside = Lock(false)
        player.onEvent = { event in
            #expect(
                isInside.withLock { state in
                    defer { state = true }
                    return !state
                })
            if case .frame(let index, let pixels) = event { #expect(NumberedSource.number(of: pixels) == index) }
            isInside.withLock { $0 = false }
        }
        await withTaskGroup(of: Void.self) { group in
            for seed in 1...4 as ClosedRange<UInt64> {
                group.addTask {
                    var generator = SplitMix64(seed: seed)
                    for _ in 0..<300 {
                        switch Int.random(in: 0..<8, using: &generator) {
                        case 0: player.play()
                        case 1: player.pause()
                        case 2: player.stop()
                        case 3: player.seek(toFrame: Int.random(in: 0..<20, using: &generator))
                        case 4: player.isVisible.toggle()
                        case 5: player.configuration.mode = PlaybackMode.allCases.randomElement(using: &generator)!
                        case 6: player.configuration.rate = Double.random(in: 0...5, using: &generator)
                        default: pools.byteLimit = Int.random(in: 0...30, using: &generator) * 64
                        }
                        await Task.yield()
                    }
                }
            }
        }
        player.configuration = .init(loopLimit: .count(1))
        player.isVisible = true
        player.stop()
        player.seek(toFrame: 0)
        let finished = Countdown()
        player.onEvent = { if case .finished = $0 { finished.signal() } }
        player.play()
        try await finished.wait()
        #expect(player.currentFrameIndex == 19)
    }
}
