import Testing
@testable import WebImageCore
import WebImageTestSupport

@testable import WebImageAnimation

/// Late frames, and late calls of the clock.
@Suite(.timeLimit(.minutes(3))) struct LateFrameTests {
    /// A player whose frames are decoded on request; the first three are.
    private func fixture(
        _ dropsLateFrames: Bool, frameCount: Int = 10, decoded: Int = 3, loops: Int = 0
    ) throws -> PlayerFixture {
        let fixture = try PlayerFixture(
            NumberedSource(frameCount, loopCount: loops), configuration: .init(dropsLateFrames: dropsLateFrames),
            decodesAtOnce: false)
        fixture.player.play()
        fixture.settle()
        // The first is the poster.
        fixture.work.run(decoded - 1)
        return fixture
    }

    @Test func keepsToTheClockAndDropsLateFrames() throws {
        let fixture = try fixture(true)
        fixture.advance(2)
        #expect(fixture.frames() == [0, 1, 2])
        // 3 and 4 come too late.
        fixture.advance(3)
        #expect(fixture.frames() == [])
        fixture.work.run(10)
        fixture.settle()
        #expect(fixture.frames() == [5])
        #expect(fixture.player.droppedFrameCount == 2)
        fixture.work.runAll()
        fixture.advance(3)
        #expect(fixture.frames() == [6, 7, 8])
        #expect(fixture.player.droppedFrameCount == 2)
    }

    @Test func showsLateFramesRatherThanOldOnes() throws {
        let fixture = try fixture(true)
        fixture.advance(3)
        // The player waits for 3, which is decoded while time advances to 4.
        fixture.advance(1)
        #expect(fixture.frames() == [0, 1, 2])
        fixture.work.run(1)
        fixture.settle()
        #expect(fixture.frames() == [], "the clock will call for 5 soon")
        fixture.advance(1)
        #expect(fixture.frames() == [3])
        fixture.work.run(2)
        fixture.settle()
        #expect(fixture.frames() == [5])
        #expect(fixture.player.droppedFrameCount == 1)
    }

    @Test func waitsAfterEightMissingFrames() throws {
        let fixture = try fixture(true, frameCount: 100)
        fixture.advance(2 + 50)
        #expect(fixture.player.currentFrameIndex == 2)
        #expect(fixture.player.isWaiting)
        #expect(fixture.clock.pendingCallCount == 0)
        fixture.work.runAll()
        fixture.settle()
        #expect(fixture.player.currentFrameIndex == 10)
        #expect(fixture.player.droppedFrameCount == 7)
        #expect(!fixture.player.isWaiting)
        fixture.advance(2)
        #expect(fixture.frames() == [0, 1, 2, 10, 11, 12])
    }

    @Test func slowsDownIfFramesAreNotDropped() throws {
        let fixture = try fixture(false)
        fixture.advance(7)
        #expect(fixture.frames() == [0, 1, 2])
        #expect(fixture.player.isWaiting)
        fixture.work.run(1)
        fixture.settle()
        #expect(fixture.frames() == [3])
        fixture.work.runAll()
        fixture.advance(3)
        #expect(fixture.frames() == [4, 5, 6])
        #expect(fixture.player.droppedFrameCount == 0)
    }

    @Test func anAwaitedFrameIsShownForItsFullDuration() throws {
        for dropsLateFrames in [true, false] {
            let fixture = try fixture(dropsLateFrames, frameCount: 3, decoded: 1)
            fixture.player.seek(toFrame: 1)
            fixture.clock.advance(by: .milliseconds(50))
            fixture.work.runAll()
            fixture.settle()
            fixture.clock.advance(by: .milliseconds(99))
            #expect(fixture.frames() == [0, 1])
            fixture.clock.advance(by: .milliseconds(1))
            #expect(fixture.frames() == [2])
        }
    }

    @Test func aLateClockSkipsFramesAndLoops() throws {
        let fixture = try fixture(true)
        fixture.work.runAll()
        fixture.advance(1)
        fixture.clock.jump(by: .milliseconds(450))
        fixture.settle()
        #expect(fixture.frames() == [0, 1, 5])
        #expect(fixture.player.droppedFrameCount == 3)
        // The rhythm stays.
        fixture.clock.advance(by: .milliseconds(50))
        #expect(fixture.frames() == [6])
        fixture.clock.jump(by: .seconds(3))
        fixture.settle()
        #expect(fixture.player.completedLoopCount == 3)
        #expect(fixture.eventText() == "loop3", "several loops are told once, and the frame is the same")
        #expect(fixture.player.droppedFrameCount == 3 + 29)
    }

    @Test func aLateClockSkipsNothingIfFramesAreNotDropped() throws {
        let fixture = try fixture(false, frameCount: 4, decoded: 4)
        fixture.work.runAll()
        fixture.advance(1)
        fixture.clock.jump(by: .milliseconds(450))
        fixture.settle()
        #expect(fixture.frames() == [0, 1, 2])
        fixture.clock.advance(by: .milliseconds(100))
        #expect(fixture.frames() == [3])
        #expect(fixture.player.droppedFrameCount == 0)
    }

    @Test func aLateClockStopsOnTheLastFrame() throws {
        for (mode, last) in [
            (PlaybackMode.normal, 9), (.reverse, 0), (.bounce, 0), (.reversedBounce, 9),
        ] {
            let fixture = try PlayerFixture(
                NumberedSource(10), configuration: .init(mode: mode, loopCount: 2))
            fixture.player.play()
            fixture.advance(1)
            fixture.clock.jump(by: .seconds(100))
            fixture.settle()
            #expect(fixture.player.status == .finished)
            #expect(fixture.player.currentFrameIndex == last)
            #expect(fixture.eventText().hasSuffix("loop2 \(last) end"), "\(mode)")
        }
    }

    @Test func theEndIsReportedWhenItsFrameIsShown() throws {
        let fixture = try fixture(true, frameCount: 4, decoded: 3, loops: 1)
        fixture.advance(6)
        #expect(fixture.eventText() == "0 1 2 loop1")
        #expect(fixture.player.status == .finished)
        fixture.work.runAll()
        fixture.settle()
        #expect(fixture.eventText() == "3 end")
    }

    @Test func anEndThatWasNotShownIsNotReported() throws {
        let fixture = try fixture(true, frameCount: 4, decoded: 3, loops: 1)
        fixture.advance(6)
        fixture.player.seek(toFrame: 1)
        fixture.work.runAll()
        fixture.settle()
        #expect(fixture.eventText() == "0 1 2 loop1 1")
    }

    /// Decoding takes 60 ms, a frame 20 ms: every third frame can be shown, then all.
    @Test func showsAvailableFramesIfDecodingIsTooSlow() throws {
        let fixture = try PlayerFixture(
            NumberedSource(30, durations: [Double](repeating: 0.02, count: 30), keyframes: Set(0..<30)),
            decodesAtOnce: false)
        fixture.player.play()
        for _ in 0..<200 {
            fixture.clock.advance(by: .milliseconds(60))
            fixture.work.run(1)
        }
        fixture.settle()
        #expect(fixture.frames().count > 100)
        #expect(fixture.player.poolStatistics?.frameCount == 30)
        fixture.player.seek(toFrame: 0, loopCount: 0)
        fixture.settle()
        let dropped = fixture.player.droppedFrameCount
        #expect(dropped > 10)
        fixture.clock.advance(by: .milliseconds(20 * 29))
        #expect(fixture.frames() == Array(0..<30))
        #expect(fixture.player.droppedFrameCount == dropped)
    }
}

/// Playback as in an app: the system's clock and the decoding threads.
@Suite(.timeLimit(.minutes(3))) struct RealClockTests {
    @Test func twentyPlayersOfOneAnimationPlayToTheEnd() async throws {
        let source = NumberedSource(30, durations: [Double](repeating: 0.011, count: 30), loopCount: 2)
        let image = try AnimatedImage(source)
        let pools = FramePools(byteLimit: 1 << 20, pressureSource: nil)
        let clock = SystemTimerClock()
        let finished = Countdown(20)
        let shown = LockBox<[Int: [Int]]>([:])
        let players = (0..<20).map { number in
            let player = AnimationPlayer(
                image, configuration: .init(dropsLateFrames: false), clock: clock, pools: pools)
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

    /// Nothing is lost, blocked or reported by two threads at once.
    @Test func keepsPlayingWhenControlledFromManyThreads() async throws {
        let source = NumberedSource(20, durations: [Double](repeating: 0.011, count: 20), keyframes: [0, 7, 13])
        let pools = FramePools(byteLimit: 6 * NumberedSource.frameByteCount, pressureSource: nil)
        let clock = SystemTimerClock()
        let image = try AnimatedImage(source)
        let player = AnimationPlayer(image, configuration: .init(loopCount: 0), clock: clock, pools: pools)
        let isInside = LockBox(false)
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
        player.configuration = .init(loopCount: 1)
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
