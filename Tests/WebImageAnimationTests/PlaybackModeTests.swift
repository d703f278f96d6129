import Testing
@testable import WebImageCore

@testable import WebImageAnimation

/// The frames of each mode, one by one.
@Suite(.timeLimit(.minutes(3))) struct PlaybackModeTests {
    private func eventText(
        _ mode: PlaybackMode, frameCount: Int = 4, loops: Int, steps: Int = 40,
        dropsLateFrames: Bool = true
    ) throws -> String {
        let fixture = try PlayerFixture(
            NumberedSource(frameCount),
            configuration: .init(mode: mode, loopCount: loops, dropsLateFrames: dropsLateFrames))
        fixture.player.play()
        fixture.advance(steps)
        #expect(fixture.player.status == .finished)
        #expect(fixture.player.completedLoopCount == loops)
        #expect(fixture.player.droppedFrameCount == 0)
        #expect(fixture.clock.pendingCallCount == 0, "nothing is left to wake for")
        return fixture.eventText()
    }

    @Test(arguments: [true, false])
    func aLoopCountIsExactInEveryMode(_ dropsLateFrames: Bool) throws {
        #expect(try eventText(.normal, loops: 1, dropsLateFrames: dropsLateFrames) == "0 1 2 3 loop1 end")
        #expect(
            try eventText(.normal, loops: 3, dropsLateFrames: dropsLateFrames)
                == "0 1 2 3 loop1 0 1 2 3 loop2 0 1 2 3 loop3 end")
        #expect(try eventText(.reverse, loops: 1, dropsLateFrames: dropsLateFrames) == "3 2 1 0 loop1 end")
        #expect(
            try eventText(.reverse, loops: 2, dropsLateFrames: dropsLateFrames) == "3 2 1 0 loop1 3 2 1 0 loop2 end")
        #expect(try eventText(.bounce, loops: 1, dropsLateFrames: dropsLateFrames) == "0 1 2 3 2 1 loop1 0 end")
        #expect(
            try eventText(.bounce, loops: 2, dropsLateFrames: dropsLateFrames)
                == "0 1 2 3 2 1 loop1 0 1 2 3 2 1 loop2 0 end")
        #expect(try eventText(.reversedBounce, loops: 1, dropsLateFrames: dropsLateFrames) == "3 2 1 0 1 2 loop1 3 end")
        #expect(
            try eventText(.reversedBounce, loops: 2, dropsLateFrames: dropsLateFrames)
                == "3 2 1 0 1 2 loop1 3 2 1 0 1 2 loop2 3 end")
    }

    @Test func twoFramesPlayInEveryMode() throws {
        #expect(try eventText(.normal, frameCount: 2, loops: 2) == "0 1 loop1 0 1 loop2 end")
        #expect(try eventText(.reverse, frameCount: 2, loops: 2) == "1 0 loop1 1 0 loop2 end")
        #expect(try eventText(.bounce, frameCount: 2, loops: 2) == "0 1 loop1 0 1 loop2 0 end")
        #expect(try eventText(.reversedBounce, frameCount: 2, loops: 2) == "1 0 loop1 1 0 loop2 1 end")
    }

    @Test(arguments: PlaybackMode.allCases)
    func aSingleFrameIsShownOnceAndItsLoopsAreCounted(_ mode: PlaybackMode) throws {
        #expect(try eventText(mode, frameCount: 1, loops: 3) == "0 loop1 loop2 loop3 end")
    }

    @Test func aSingleEndlessFrameNeedsNoClockAndNoPool() throws {
        let fixture = try PlayerFixture(NumberedSource(1))
        fixture.player.play()
        fixture.settle()
        #expect(fixture.eventText() == "0")
        #expect(fixture.clock.pendingCallCount == 0)
        #expect(fixture.player.poolStatistics == nil)
        #expect(fixture.player.status == .playing)
    }

    @Test func usesTheLoopCountOfTheImageByDefault() throws {
        let fixture = try PlayerFixture(NumberedSource(2, loopCount: 2))
        fixture.player.play()
        fixture.advance(20)
        #expect(fixture.eventText() == "0 1 loop1 0 1 loop2 end")
        fixture.player.configuration.loopCount = 0
        fixture.player.play()
        fixture.advance(5)
        #expect(fixture.eventText() == "0 1 loop1 0 1 loop2 0 1")
        fixture.player.configuration.loopCount = 1
        fixture.advance(2)
        #expect(fixture.eventText() == "loop3 end", "what is over counts, though the limit came late")
    }

    @Test func aFinishedPlayerRestartsAndCountsFromZero() throws {
        let fixture = try PlayerFixture(NumberedSource(2), configuration: .init(loopCount: 1))
        for _ in 0..<2 {
            fixture.player.play()
            fixture.advance(5)
            #expect(fixture.eventText() == "0 1 loop1 end")
            #expect(fixture.player.completedLoopCount == 1)
        }
    }

    @Test func loopsForeverWithoutLimit() throws {
        let fixture = try PlayerFixture(NumberedSource(2, loopCount: .max))
        fixture.player.play()
        fixture.settle()
        fixture.player.seek(toFrame: 1, loopCount: .max)
        fixture.advance(3)
        #expect(fixture.player.completedLoopCount == 1 << 40 + 2)
        #expect(fixture.player.status == .playing)
    }

    @Test func changingTheModeContinuesFromTheShownFrame() throws {
        let fixture = try PlayerFixture(NumberedSource(5))
        fixture.player.play()
        fixture.advance(3)
        #expect(fixture.frames() == [0, 1, 2, 3])
        fixture.player.configuration.mode = .reverse
        fixture.advance(4)
        #expect(fixture.frames() == [2, 1, 0, 4])
    }

    /// Two implementations: windows of a loop, and a walk through it.
    @Test func windowsContainTheFramesOfAWalk() {
        for mode in PlaybackMode.allCases {
            for frameCount in 1...7 {
                let order = FrameOrder(mode: mode, frameCount: frameCount)
                for entry in 0..<order.entryCount {
                    for count in 0...2 * order.entryCount {
                        let walked = Set((0..<count).map { order.frame(at: order.entry($0, after: entry)) })
                        let ranges = order.frames(from: entry, count: count)
                        #expect(Set(ranges.joined()) == walked, "\(mode) \(frameCount) \(entry) \(count)")
                        #expect(ranges.reduce(0) { $0 + $1.count } == walked.count)
                    }
                }
            }
        }
    }

    @Test func everyTimeMapsToItsEntry() {
        let milliseconds = [100, 20, 1_000, 300, 50]
        for mode in PlaybackMode.allCases {
            for frameCount in 1...5 {
                let frames = milliseconds.prefix(frameCount).map {
                    AnimationFrame(duration: .milliseconds($0), isKeyframe: true)
                }
                let timeline = Timeline(frames, mode: mode)
                var start: Int64 = 0
                for entry in 0..<timeline.order.entryCount {
                    #expect(timeline.start(of: entry) == start)
                    let duration = Int64(milliseconds[timeline.order.frame(at: entry)]) * 1_000_000
                    #expect(timeline.duration(of: entry) == duration)
                    #expect(timeline.entry(at: start) == entry)
                    #expect(timeline.entry(at: start + duration - 1) == entry)
                    start += duration
                }
                #expect(timeline.loopDuration == start)
            }
        }
    }
}
