import Testing
@testable import WebImageCore
@testable import WebImageProcessing
import WebImageTestSupport

@testable import WebImageAnimation

/// The frames that are decoded, how often, and those that are kept.
@Suite(.timeLimit(.minutes(3))) struct FramePoolTests {
    @Test func twentyPlayersDecodeEachFrameOnce() throws {
        let source = NumberedSource(60)
        let image = try AnimatedImage(source)
        let first = try PlayerFixture(source)
        let players = (0..<20).map { _ in
            AnimationPlayer(image, clock: first.clock, pools: first.pools)
        }
        for (number, player) in players.enumerated() {
            player.play()
            first.advance(number % 3)
        }
        first.advance(130)
        for player in players { #expect(player.completedLoopCount >= 1 && player.droppedFrameCount == 0) }
        // Both images decoded their poster, which is the first frame.
        #expect(source.log.asked == [0, 0] + Array(1..<60))
        let statistics = try #require(players[0].poolStatistics)
        #expect(statistics.decodedFrameCount == 59)
        #expect(statistics.frameCount == 60)
        #expect(statistics.canvasByteCount == 0, "all is decoded")
        for player in players { player.stop() }
        #expect(first.pools.byteCount == 60 * NumberedSource.frameByteCount)
    }

    @Test func memoryIsReleasedAfterStop() throws {
        let source = NumberedSource(60)
        var configuration = AnimationPlayer.Configuration()
        configuration.releasesFramesWhenStopped = true
        let first = try PlayerFixture(source, configuration: configuration)
        let second = try PlayerFixture(source, configuration: configuration, beside: first)
        for player in [first.player, second.player] { player.play() }
        first.advance(70)
        #expect(first.pools.byteCount == 60 * NumberedSource.frameByteCount)
        first.player.stop()
        #expect(first.pools.byteCount == 60 * NumberedSource.frameByteCount, "the other one plays")
        second.player.stop()
        #expect(first.pools.byteCount == 0)
        #expect(second.player.currentFrameIndex != 0, "what is on show stays")
        first.player.play()
        first.advance(3)
        #expect(first.pools.byteCount > 0)
    }

    @Test func differentSizesAndProcessorsAreDifferentPools() {
        let pools = FramePools(byteLimit: 1 << 20, pressureSource: nil) { _, _ in }
        let source = NumberedSource(3)
        let processor = FrameClosure("a") { pixels, _ throws(WebImageError) in pixels }
        let pool = pools.pool(for: source)
        #expect(pools.pool(for: source) === pool)
        #expect(pools.pool(for: source, thumbnail: Thumbnail(.pixels(width: 4, height: 4))) === pool, "the same size")
        #expect(pools.pool(for: source, thumbnail: Thumbnail(.pixels(width: 2, height: 2))) !== pool)
        #expect(pools.pool(for: source, processor: processor.erased) !== pool)
        #expect(pools.pool(for: NumberedSource(3)) !== pool)
    }

    @Test func aWindowMovesWithThePlayerIfNotAllFramesFit() throws {
        let source = NumberedSource(30)
        let fixture = try PlayerFixture(source, capacity: 6)
        fixture.player.play()
        for step in 0..<60 {
            fixture.advance(1)
            let statistics = try #require(fixture.player.poolStatistics)
            #expect(statistics.byteCount <= 6 * NumberedSource.frameByteCount, "step \(step)")
            #expect(statistics.frameCount >= 5)
        }
        #expect(fixture.frames() == (0...60).map { $0 % 30 })
        // Each frame once per loop, composed once: the canvas is kept.
        let composed = source.log.composed.dropFirst()
        #expect(composed.count <= 61 + 6)
        #expect(zip(composed, composed.dropFirst()).allSatisfy { $1 == ($0 + 1) % 30 })
    }

    @Test func playersAtDifferentPositionsHaveTheirOwnCanvas() throws {
        let source = NumberedSource(100)
        let first = try PlayerFixture(source, capacity: 10)
        let second = try PlayerFixture(source, beside: first)
        first.player.play()
        second.player.seek(toFrame: 50)
        second.player.play()
        first.advance(40)
        #expect(first.frames() == Array(0...40))
        #expect(second.frames() == Array(50...90))
        // Up to 50 is unavoidable; then each continues from its position.
        #expect(source.log.composed.count < 2 + 50 + 2 * 50)
    }

    @Test func reversePlayDecodesARunAndKeepsIt() throws {
        let source = NumberedSource(60)
        let fixture = try PlayerFixture(source, configuration: .init(mode: .reverse))
        fixture.player.play()
        fixture.advance(125)
        #expect(Array(fixture.frames().prefix(65)) == (0..<60).reversed() + [59, 58, 57, 56, 55])
        #expect(source.log.composed == [0] + Array(0..<60), "once forwards from the keyframe")
    }

    @Test func reversePlayInAWindowReplaysARunAtATime() throws {
        let source = NumberedSource(200, keyframes: [0, 50, 100, 150])
        let fixture = try PlayerFixture(
            source, configuration: .init(mode: .reverse, loopCount: 1), capacity: 20)
        fixture.player.play()
        fixture.advance(200)
        #expect(fixture.frames() == (0..<200).reversed())
        #expect(fixture.player.droppedFrameCount == 0)
        // One at a time would be 4 * 50 * 51 / 2 = 5100; in runs of ten, from a keyframe each, about 30 for ten.
        #expect(source.log.composed.count < 1_000, "\(source.log.composed.count)")
        let asked = source.log.asked.count
        #expect(asked <= 200 + 2, "no image is made twice")
    }

    @Test(arguments: PlaybackMode.allCases, [2, 3, 5, 12])
    func everyModeShowsEveryFrameInAnyWindow(_ mode: PlaybackMode, capacity: Int) throws {
        let source = NumberedSource(12, keyframes: [0, 7])
        let fixture = try PlayerFixture(source, configuration: .init(mode: mode), capacity: capacity)
        fixture.player.play()
        fixture.advance(50)
        let order = FrameOrder(mode: mode, frameCount: 12)
        #expect(fixture.frames() == (0...50).map { order.frame(at: $0 % order.entryCount) })
        #expect(fixture.player.droppedFrameCount == 0)
        #expect(fixture.player.poolStatistics?.frameCount ?? 0 <= max(2, capacity))
    }

    @Test func seekingBeginsAtTheKeyframeBefore() throws {
        let source = NumberedSource(100, keyframes: [0, 40, 80])
        let fixture = try PlayerFixture(source, capacity: 4)
        fixture.player.seek(toFrame: 45)
        fixture.settle()
        #expect(source.log.composed == [0] + Array(40...45))
        fixture.player.seek(toFrame: 47)
        fixture.settle()
        #expect(source.log.composed == [0] + Array(40...47), "on from where the canvas is")
        fixture.player.seek(toFrame: 81)
        fixture.settle()
        #expect(source.log.composed == [0] + Array(40...47) + [80, 81])
        #expect(fixture.frames() == [45, 47, 81])
    }

    @Test func preloadsAllFramesIfTheyFit() throws {
        let source = NumberedSource(600)
        var configuration = AnimationPlayer.Configuration()
        configuration.preloadsAllFrames = true
        let fixture = try PlayerFixture(source, configuration: configuration)
        fixture.settle()
        #expect(fixture.player.status == .stopped)
        #expect(fixture.player.poolStatistics?.frameCount == 600)
        let small = try PlayerFixture(NumberedSource(600), configuration: configuration, capacity: 100)
        small.settle()
        #expect(small.player.poolStatistics?.decodedFrameCount ?? 0 == 0)
    }

    @Test func decodesNoFurtherThanTheLastLoop() throws {
        let source = NumberedSource(50)
        let fixture = try PlayerFixture(source, configuration: .init(loopCount: 1), capacity: 10)
        fixture.player.play()
        fixture.advance(60)
        #expect(fixture.player.status == .finished)
        #expect(source.log.asked == Array(0..<50))
    }

    @Test func awaitedFramesComeBeforeLaterOnes() throws {
        let source = NumberedSource(50, keyframes: [0, 30])
        let fixture = try PlayerFixture(source, decodesAtOnce: false)
        fixture.player.play()
        fixture.settle()
        #expect(fixture.work.priorities == [.low], "the poster is there, the rest is for later")
        fixture.player.seek(toFrame: 30)
        fixture.player.seek(toFrame: 31)
        #expect(fixture.work.priorities == [.low, .normal])
        fixture.work.run(1)
        #expect(source.log.asked == [0, 30])
        fixture.work.runAll()
        #expect(source.log.asked.count == 50, "each once, though two pieces of work were queued")
    }

    @Test func thePlayerThatWaitsLongestIsServedFirst() throws {
        let source = NumberedSource(50, keyframes: Set(0..<50))
        let first = try PlayerFixture(source, decodesAtOnce: false)
        let second = try PlayerFixture(source, decodesAtOnce: false, beside: first)
        second.player.seek(toFrame: 30)
        first.player.seek(toFrame: 10)
        first.work.runAll()
        #expect(source.log.asked == [0, 0, 30, 10])
    }

    /// After frame 28 of 30, the first frame follows soon.
    @Test func theFrameThatIsNeededLastIsRemovedFirst() throws {
        let source = NumberedSource(30)
        let fixture = try PlayerFixture(source, capacity: 7)
        for frame in Array(8...13) + [28] {
            fixture.player.seek(toFrame: frame)
            fixture.settle()
        }
        let pool = fixture.pools.pool(for: source)
        #expect((0..<30).filter { pool.frame(at: $0) != nil } == [0] + Array(8...12) + [28])
    }

    @Test func invisiblePlayersDecodeNothing() throws {
        let source = NumberedSource(10)
        let first = try PlayerFixture(source, decodesAtOnce: false)
        let second = try PlayerFixture(source, decodesAtOnce: false, beside: first)
        for player in [first.player, second.player] { player.play() }
        first.settle()
        first.player.isVisible = false
        first.work.run(3)
        #expect(source.log.asked.count == 2 + 3, "one is seen")
        second.player.isVisible = false
        first.work.runAll()
        #expect(source.log.asked.count == 2 + 3)
    }

    /// As on busy threads: work for later waits, urgent work runs.
    @Test func waitingWorkIsQueuedOnce() throws {
        let fixture = try PlayerFixture(NumberedSource(50), decodesAtOnce: false)
        fixture.player.play()
        for _ in 0..<40 {
            fixture.settle()
            fixture.work.runUrgent()
            fixture.clock.advance(by: .milliseconds(100))
        }
        #expect(fixture.player.poolStatistics?.decodedFrameCount ?? 0 > 5)
        #expect(fixture.work.count <= 2)
    }

    @Test func aProcessorThatThrowsCancelledIsNotCalledForever() throws {
        let processor = FrameClosure("gives up") { pixels, _ throws(WebImageError) in
            if NumberedSource.number(of: pixels) == 1 { throw .cancelled }
            return pixels
        }
        let source = NumberedSource(3, loopCount: 2)
        let fixture = try PlayerFixture(source, configuration: .init(processor: processor.erased), decodesAtOnce: false)
        fixture.player.play()
        for _ in 0..<8 {
            fixture.work.run(5)
            fixture.advance(1)
        }
        #expect(fixture.eventText() == "0 failed1 2 loop1 0 2 loop2 end")
        #expect(source.log.asked.count == 4, "once for the poster")
    }

    @Test func removeAllDecodesRequestedFramesAgain() throws {
        let source = NumberedSource(10)
        let fixture = try PlayerFixture(source)
        fixture.player.play()
        fixture.advance(12)
        fixture.pools.removeAll()
        #expect(fixture.pools.byteCount == 0)
        fixture.advance(10)
        #expect(fixture.frames() == (0...22).map { $0 % 10 })
        #expect(source.log.asked.count == 20)
    }
}
