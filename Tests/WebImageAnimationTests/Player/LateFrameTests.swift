import Testing
import WebImageCore

@testable import WebImageAnimation

/// What happens when frames are not there in time, or the clock's calls come late.
@Suite struct LateFrameTests {
    /// A player whose frames are decoded when the test says so, with the first three there.
    private func fixture(
        _ policy: LatePolicy, frameCount: Int = 10, decoded: Int = 3, loops: Int = 0
    ) throws -> PlayerFixture {
        let fixture = try PlayerFixture(
            NumberedSource(frameCount, loopCount: loops), configuration: .init(latePolicy: policy),
            decodesAtOnce: false)
        fixture.player.play()
        fixture.settle()
        // The first is the poster.
        fixture.work.run(decoded - 1)
        return fixture
    }

    @Test func keepsToTheClockAndDropsWhatWasNotThere() throws {
        let fixture = try fixture(.dropFrames)
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

    @Test func showsWhatIsLateRatherThanWhatIsOld() throws {
        let fixture = try fixture(.dropFrames)
        fixture.advance(3)
        // 3 is being waited for, and decoded while time goes on to 4.
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

    @Test func waitsAfterEightFramesThatAreNotThere() throws {
        let fixture = try fixture(.dropFrames, frameCount: 100)
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

    @Test func slowsDownInsteadIfItIsTo() throws {
        let fixture = try fixture(.slowDown)
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

    @Test func aFrameThatWasWaitedForIsShownForAllOfItsTime() throws {
        for policy in LatePolicy.allCases {
            let fixture = try fixture(policy, frameCount: 3, decoded: 1)
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

    @Test func aClockThatIsLateSkipsFramesAndWholeLoops() throws {
        let fixture = try fixture(.dropFrames)
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
        #expect(fixture.story() == "loop3", "several loops are told once, and the frame is the same")
        #expect(fixture.player.droppedFrameCount == 3 + 29)
    }

    @Test func aClockThatIsLateSkipsNothingWhereItIsToSlowDown() throws {
        let fixture = try fixture(.slowDown, frameCount: 4, decoded: 4)
        fixture.work.runAll()
        fixture.advance(1)
        fixture.clock.jump(by: .milliseconds(450))
        fixture.settle()
        #expect(fixture.frames() == [0, 1, 2])
        fixture.clock.advance(by: .milliseconds(100))
        #expect(fixture.frames() == [3])
        #expect(fixture.player.droppedFrameCount == 0)
    }

    @Test func aLateClockStopsOnTheFrameOfTheEnd() throws {
        for (mode, last) in [
            (PlaybackMode.normal, 9), (.reverse, 0), (.bounce, 0), (.reversedBounce, 9),
        ] {
            let fixture = try PlayerFixture(
                NumberedSource(10), configuration: .init(mode: mode, loopLimit: .count(2)))
            fixture.player.play()
            fixture.advance(1)
            fixture.clock.jump(by: .seconds(100))
            fixture.settle()
            #expect(fixture.player.status == .finished)
            #expect(fixture.player.currentFrameIndex == last)
            #expect(fixture.story().hasSuffix("loop2 \(last) end"), "\(mode)")
        }
    }

    @Test func theEndIsToldWhenItsFrameIsShown() throws {
        let fixture = try fixture(.dropFrames, frameCount: 4, decoded: 3, loops: 1)
        fixture.advance(6)
        #expect(fixture.story() == "0 1 2 loop1")
        #expect(fixture.player.status == .finished)
        fixture.work.runAll()
        fixture.settle()
        #expect(fixture.story() == "3 end")
    }

    @Test func anEndThatWasLeftBeforeItWasShownIsNotTold() throws {
        let fixture = try fixture(.dropFrames, frameCount: 4, decoded: 3, loops: 1)
        fixture.advance(6)
        fixture.player.seek(toFrame: 1)
        fixture.work.runAll()
        fixture.settle()
        #expect(fixture.story() == "0 1 2 loop1 1")
    }

    /// Decoding takes 60 ms, a frame 20 ms: all that can be shown is every third frame, and then all of them.
    @Test func showsWhatItCanWhereDecodingIsTooSlow() throws {
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
