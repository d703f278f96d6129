import Testing
@testable import WebImageCore

@testable import WebImageAnimation

/// Playing while the file loads.
@Suite(.timeLimit(.minutes(3))) struct ArrivingAnimationTests {
    private func version(_ frameCount: Int, isComplete: Bool = false, of other: NumberedSource? = nil) -> NumberedSource
    {
        NumberedSource(frameCount, loopCount: 2, isComplete: isComplete, versionOf: other)
    }

    @Test func waitsAtTheLastFrameAndContinuesWithTheNext() throws {
        let first = version(3)
        let fixture = try PlayerFixture(first)
        fixture.player.play()
        fixture.advance(10)
        #expect(fixture.eventText() == "0 1 2")
        #expect(fixture.player.isWaiting)
        #expect(fixture.clock.pendingCallCount == 0)
        fixture.player.update(to: try AnimatedImage(version(5, of: first)))
        fixture.settle()
        #expect(fixture.eventText() == "3", "its time has come long ago")
        fixture.advance(5)
        #expect(fixture.eventText() == "4")
        fixture.player.update(to: try AnimatedImage(version(6, isComplete: true, of: first)))
        fixture.advance(12)
        #expect(fixture.eventText() == "5 loop1 0 1 2 3 4 5 loop2 end")
        #expect(fixture.player.droppedFrameCount == 0)
    }

    @Test func decodesEachFrameOnceAndReplaysNone() throws {
        var source = version(1)
        let fixture = try PlayerFixture(source)
        fixture.player.play()
        for count in 2...20 {
            fixture.advance(2)
            source = version(count, isComplete: count == 20, of: source)
            // Only the first poster is decoded on the thread of the test.
            fixture.player.update(
                to: AnimatedImage(
                    Image(pixels: fixture.player.image.poster, animation: source)))
        }
        fixture.advance(60)
        #expect(fixture.player.status == .finished)
        // Once for the poster, and once to get from there to the second frame.
        #expect(source.log.composed == [0] + Array(0..<20))
        #expect(source.log.asked == Array(0..<20))
    }

    @Test func theSamePoolServesAllVersions() throws {
        let first = version(3)
        let longer = version(6, isComplete: true, of: first)
        let pools = FramePools(byteLimit: 1 << 20, pressureSource: nil) { _, _ in }
        let pool = pools.pool(for: first)
        #expect(pools.pool(for: longer) === pool)
        #expect(pools.pool(for: first) === pool, "a shorter one changes nothing")
        #expect(pool.neededByteCount == 6 * NumberedSource.frameByteCount)
    }

    @Test func bounceReversesOnlyAtTheEnd() throws {
        let first = version(3)
        let fixture = try PlayerFixture(first, configuration: .init(mode: .bounce, loopCount: 1))
        fixture.player.play()
        fixture.advance(5)
        #expect(fixture.eventText() == "0 1 2")
        fixture.player.update(to: try AnimatedImage(version(4, isComplete: true, of: first)))
        fixture.advance(5)
        #expect(fixture.eventText() == "3 2 1 loop1 0 end")
    }

    @Test(arguments: [PlaybackMode.reverse, .reversedBounce])
    func modesThatBeginAtTheEndWaitForIt(_ mode: PlaybackMode) throws {
        let first = version(3)
        let fixture = try PlayerFixture(first, configuration: .init(mode: mode, loopCount: 1))
        fixture.player.play()
        fixture.advance(5)
        #expect(fixture.eventText() == "")
        #expect(first.log.asked == [0])
        #expect(fixture.player.isWaiting)
        fixture.player.update(to: try AnimatedImage(version(4, of: first)))
        fixture.advance(5)
        #expect(fixture.eventText() == "")
        fixture.player.update(to: try AnimatedImage(version(5, isComplete: true, of: first)))
        fixture.advance(10)
        #expect(fixture.eventText() == (mode == .reverse ? "4 3 2 1 0 loop1 end" : "4 3 2 1 0 1 2 3 loop1 4 end"))
    }

    @Test(arguments: [PlaybackMode.reverse, .reversedBounce])
    func playsBackwardsFromASeekWhileMoreArrives(_ mode: PlaybackMode) throws {
        let first = version(3)
        let fixture = try PlayerFixture(first, configuration: .init(mode: mode, loopCount: 0))
        fixture.player.seek(toFrame: 2)
        fixture.player.play()
        fixture.advance(1)
        #expect(fixture.eventText() == "2 1")
        fixture.player.update(to: try AnimatedImage(version(5, of: first)))
        fixture.settle()
        #expect(fixture.player.currentFrameIndex == 1, "frames that come behind it move it nowhere")
        fixture.advance(4)
        #expect(fixture.eventText() == "0")
        #expect(fixture.player.isWaiting, "the next frame is unknown")
        fixture.player.update(to: try AnimatedImage(version(6, isComplete: true, of: first)))
        fixture.advance(2)
        #expect(fixture.eventText() == (mode == .reverse ? "loop1 5 4 3" : "1 2 3"))
    }

    @Test func keepsASoughtPositionWhenTheEndArrives() throws {
        let first = version(3)
        let fixture = try PlayerFixture(first, configuration: .init(mode: .reverse))
        fixture.player.seek(toFrame: 1)
        fixture.settle()
        fixture.player.update(to: try AnimatedImage(version(5, isComplete: true, of: first)))
        fixture.advance(2)
        #expect(fixture.eventText() == "1")
        #expect(fixture.player.currentFrameIndex == 1)
    }

    @Test func aModeChangedBeforeTheEndStartsAtItsFirstFrame() throws {
        let fixture = try PlayerFixture(version(3), configuration: .init(mode: .reverse))
        fixture.player.play()
        fixture.advance(2)
        fixture.player.configuration.mode = .normal
        fixture.advance(1)
        #expect(fixture.eventText() == "0 1")
    }

    @Test func anImprovedPosterIsShownBeforePlaying() throws {
        let first = version(1)
        let fixture = try PlayerFixture(first)
        let better = try AnimatedImage(version(2, of: first))
        fixture.player.update(to: better)
        fixture.settle()
        #expect(fixture.player.currentFrame === better.poster)
        #expect(fixture.eventText() == "0")
        #expect(fixture.player.status == .stopped)
    }

    @Test func anotherAnimationShowsAndReportsItsOwnFrames() throws {
        let error = WebImageError.decoding(format: .gif, reason: .truncated)
        let fixture = try PlayerFixture(NumberedSource(5, damaged: [1: error]))
        fixture.player.play()
        fixture.advance(2)
        fixture.player.pause()
        #expect(fixture.eventText() == "0 failed1 2")
        fixture.player.update(to: try AnimatedImage(NumberedSource(5, damaged: [1: error])))
        fixture.settle()
        #expect(fixture.eventText() == "2", "the same number, but another image")
        fixture.player.play()
        fixture.advance(4)
        #expect(fixture.eventText() == "3 4 loop1 0 failed1")
    }

    @Test func anUnrelatedVersionGetsItsOwnPool() throws {
        let fixture = try PlayerFixture(NumberedSource(5))
        fixture.player.play()
        fixture.advance(3)
        fixture.player.update(to: try AnimatedImage(NumberedSource(3)))
        fixture.advance(2)
        #expect(fixture.player.status == .playing)
        #expect(fixture.frames().prefix(4) == [0, 1, 2, 3])
        #expect(fixture.player.poolStatistics?.frameCount ?? 0 <= 3)
    }
}
