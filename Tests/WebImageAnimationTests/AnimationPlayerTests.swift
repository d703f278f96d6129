import Testing
@testable import WebImageCore
@testable import WebImageProcessing
import WebImageTestSupport

@testable import WebImageAnimation

@Suite(.timeLimit(.minutes(3))) struct AnimationPlayerTests {
    @Test func showsThePosterAndDecodesNothingBeforeItPlays() throws {
        let source = NumberedSource(5)
        let fixture = try PlayerFixture(source)
        fixture.advance(10)
        #expect(fixture.player.status == .stopped)
        #expect(fixture.player.currentFrameIndex == 0)
        #expect(fixture.player.currentFrame === fixture.player.image.poster)
        #expect(fixture.eventText() == "")
        #expect(source.log.asked == [0], "the poster")
    }

    @Test func holdsEachFrameForItsOwnDuration() throws {
        let fixture = try PlayerFixture(NumberedSource(4, durations: [0.1, 0.3, 0, 0.2]))
        fixture.player.play()
        fixture.settle()
        var shown: [Int] = []
        for _ in 0..<14 {
            shown.append(fixture.player.currentFrameIndex)
            fixture.advance()
        }
        #expect(shown == [0, 1, 1, 1, 2, 3, 3, 0, 1, 1, 1, 2, 3, 3], "0 s means 0.1 s")
    }

    @Test func shortDurationsCountAsATenth() {
        for duration in [.zero, .seconds(-1), .seconds(Int64.min), .milliseconds(10)] as [Duration] {
            let timeline = Timeline([AnimationFrame(duration: duration, isKeyframe: true)], mode: .normal)
            #expect(timeline.loopDuration == 100_000_000)
        }
        let endless = [AnimationFrame](
            repeating: AnimationFrame(duration: .seconds(Int64.max), isKeyframe: true), count: 200_000)
        #expect(Timeline(endless, mode: .bounce).loopDuration > 0, "no sum overflows")
    }

    @Test func pauseKeepsTheRemainingTimeOfTheFrame() throws {
        let fixture = try PlayerFixture(NumberedSource(3, durations: [0.2, 0.2, 0.2]))
        fixture.player.play()
        fixture.advance()
        fixture.player.pause()
        #expect(fixture.clock.pendingCallCount <= 1)
        fixture.advance(10)
        #expect(fixture.frames() == [0])
        fixture.player.play()
        fixture.advance()
        #expect(fixture.frames() == [1])
        #expect(fixture.player.status == .playing)
    }

    @Test func rateAppliesInTheMiddleOfAFrame() throws {
        let fixture = try PlayerFixture(NumberedSource(3, durations: [0.4, 0.4, 0.4]))
        fixture.player.configuration.rate = 2
        fixture.player.play()
        fixture.advance()
        // Half of the frame is over; the other half takes twice as long as at a rate of 1.
        fixture.player.configuration.rate = 0.5
        fixture.advance(3)
        #expect(fixture.frames() == [0])
        fixture.advance()
        #expect(fixture.frames() == [1])
        for rate in [0, -1, .nan] {
            fixture.player.configuration.rate = rate
            fixture.advance(20)
            #expect(fixture.frames() == [], "it holds the frame")
            #expect(fixture.clock.pendingCallCount == 0)
        }
        fixture.player.configuration.rate = .infinity
        fixture.advance()
        #expect(fixture.player.status == .playing)
    }

    @Test func seekingShowsADecodedFrameAtOnce() throws {
        let source = NumberedSource(10)
        let fixture = try PlayerFixture(source)
        fixture.player.play()
        fixture.advance(10)
        _ = fixture.frames()
        #expect(source.log.asked.count == 10)
        fixture.player.seek(toFrame: 7)
        #expect(fixture.player.currentFrameIndex == 7, "before the clock calls")
        fixture.advance(2)
        #expect(fixture.frames() == [7, 8, 9])
        fixture.player.seek(toFrame: 99)
        fixture.player.seek(toFrame: -5)
        fixture.settle()
        #expect(fixture.frames() == [9, 0], "limited to the frames there are")
        #expect(source.log.asked.count == 10)
    }

    @Test func seekingWhilePausedOrStoppedShowsTheFrameAndStays() throws {
        let fixture = try PlayerFixture(NumberedSource(10))
        fixture.player.seek(toFrame: 4)
        fixture.advance(5)
        #expect(fixture.frames() == [4])
        fixture.player.play()
        fixture.advance(1)
        #expect(fixture.frames() == [4, 5])
        fixture.player.pause()
        fixture.player.seek(toFrame: 2)
        fixture.advance(5)
        #expect(fixture.frames() == [2])
        #expect(fixture.player.status == .paused)
    }

    @Test func seekingAfterTheEndPausesThere() throws {
        let fixture = try PlayerFixture(NumberedSource(3, loopCount: 1))
        fixture.player.play()
        fixture.advance(5)
        fixture.player.seek(toFrame: 1)
        fixture.settle()
        #expect(fixture.player.status == .paused)
        fixture.player.play()
        fixture.advance(5)
        #expect(fixture.eventText() == "0 1 2 loop1 end 1 2 loop1 end")
    }

    @Test func seekSetsTheLoopCount() throws {
        let fixture = try PlayerFixture(NumberedSource(2), configuration: .init(loopCount: 3))
        fixture.player.play()
        fixture.settle()
        fixture.player.seek(toFrame: 1, loopCount: 2)
        fixture.advance(5)
        #expect(fixture.eventText() == "0 1 loop3 end")
    }

    @Test func stopStaysOrResets() throws {
        let fixture = try PlayerFixture(NumberedSource(5))
        fixture.player.play()
        fixture.advance(7)
        #expect(fixture.player.completedLoopCount == 1)
        fixture.player.stop()
        #expect(fixture.player.completedLoopCount == 0)
        fixture.advance(5)
        #expect(fixture.player.currentFrameIndex == 2)
        #expect(fixture.clock.pendingCallCount == 0)
        fixture.player.configuration.resetsWhenStopped = true
        fixture.player.play()
        fixture.advance(1)
        fixture.player.stop()
        fixture.advance(3)
        #expect(fixture.player.currentFrameIndex == 0)
        #expect(fixture.frames() == [0, 1, 2, 3, 4, 0, 1, 2, 2, 3, 0])
    }

    @Test func firstFrameOnlyShowsItInEveryMode() throws {
        for mode in PlaybackMode.allCases {
            let source = NumberedSource(5)
            var configuration = AnimationPlayer.Configuration(mode: mode)
            configuration.showsFirstFrameOnly = true
            let fixture = try PlayerFixture(source, configuration: configuration)
            fixture.player.play()
            fixture.advance(10)
            #expect(fixture.frames() == [0])
            #expect(source.log.asked == [0])
            #expect(fixture.clock.pendingCallCount == 0)
            fixture.player.configuration.showsFirstFrameOnly = false
            fixture.advance(1)
            #expect(fixture.frames().count == 1)
        }
    }

    @Test func anInvisiblePlayerDoesNotAdvanceOrDecode() throws {
        let source = NumberedSource(20)
        let fixture = try PlayerFixture(source, decodesAtOnce: false)
        fixture.player.isVisible = false
        fixture.player.play()
        fixture.advance(5)
        #expect(fixture.work.count == 0)
        #expect(fixture.clock.pendingCallCount == 0)
        fixture.player.isVisible = true
        fixture.settle()
        #expect(fixture.work.count == 1)
        fixture.player.isVisible = false
        fixture.work.runAll()
        #expect(source.log.asked == [0], "work that was queued finds nothing to do")
        #expect(fixture.clock.pendingCallCount == 0)
        fixture.player.isVisible = true
        fixture.work.runAll()
        fixture.advance(3)
        #expect(fixture.frames() == [0, 1, 2, 3])
    }

    @Test func timeStandsStillWhileInvisible() throws {
        let fixture = try PlayerFixture(NumberedSource(20))
        fixture.player.play()
        fixture.advance(3)
        fixture.player.isVisible = false
        fixture.advance(7)
        fixture.player.isVisible = true
        fixture.advance(2)
        #expect(fixture.frames() == [0, 1, 2, 3, 4, 5])
    }

    @Test func cancelsWorkInProgressWithoutRequests() throws {
        let source = NumberedSource(20)
        let stopper = LockBox<AnimationPlayer?>(nil)
        let processor = FrameClosure("stops") { pixels, cancellation throws(WebImageError) in
            if NumberedSource.number(of: pixels) == 3 { stopper.withLock { $0 }?.stop() }
            try cancellation?.check()
            return pixels
        }
        let fixture = try PlayerFixture(source, configuration: .init(processor: processor.erased))
        stopper.withLock { $0 = fixture.player }
        fixture.player.play()
        fixture.advance(10)
        #expect(fixture.player.status == .stopped)
        #expect(fixture.player.poolStatistics?.frameCount == 3)
        #expect(source.log.asked.last == 3)
        stopper.withLock { $0 = nil }
    }

    @Test func aDamagedFrameIsSkippedAndReportedOnce() throws {
        let error = WebImageError.decoding(format: .gif, reason: .truncated)
        let fixture = try PlayerFixture(
            NumberedSource(4, damaged: [2: error]), configuration: .init(loopCount: 2))
        fixture.player.play()
        fixture.advance(10)
        #expect(fixture.player.currentFrameIndex == 3)
        guard case .frameFailed(2, error) = fixture.events[2] else {
            Issue.record("\(fixture.events[2])")
            return
        }
        #expect(fixture.eventText() == "0 1 failed2 3 loop1 0 1 3 loop2 end")
        #expect(fixture.player.droppedFrameCount == 0)
    }

    @Test(arguments: [true, false])
    func continuesIfEveryFrameIsDamaged(_ dropsLateFrames: Bool) throws {
        let error = WebImageError.outOfResources(reason: .memory(byteCount: 1))
        let source = NumberedSource(3, loopCount: 2, damaged: [1: error, 2: error])
        let fixture = try PlayerFixture(source, configuration: .init(dropsLateFrames: dropsLateFrames))
        fixture.player.play()
        fixture.advance(10)
        #expect(fixture.eventText() == "0 failed1 failed2 loop1 loop2 end")
        #expect(source.log.asked.filter { $0 == 1 }.count > 1, "memory may be had later")
    }

    @Test func processesEachFrameOnce() throws {
        let count = LockBox(0)
        let processor = FrameClosure("negative") { pixels, _ throws(WebImageError) in
            count.withLock { $0 += 1 }
            var result = try MutablePixelBuffer(width: 1, height: 1)
            result.withUnsafeMutableBytes { $0.copyBytes(from: [255 - pixels[0, 0][0], 0, 0, 255]) }
            return result.freeze(isOpaque: true)
        }
        let fixture = try PlayerFixture(NumberedSource(3), configuration: .init(processor: processor.erased))
        #expect(fixture.player.currentFrame == nil, "the poster is not processed")
        fixture.player.play()
        fixture.advance(8)
        let numbers = fixture.events.compactMap { event -> UInt8? in
            if case .frame(_, let pixels) = event { pixels[0, 0][0] } else { nil }
        }
        #expect(numbers == [255, 254, 253, 255, 254, 253, 255, 254, 253])
        #expect(count.withLock { $0 } == 3)
    }

    /// Sets the second byte of each pixel.
    private struct Painter: PixelProcessor {
        let value: UInt8
        var identifier: ProcessorIdentifier { ProcessorIdentifier("test.painter", ["value": "\(value)"]) }

        func process(_ pixels: PixelBuffer, scale: Double, cancellation: Cancellation?) throws(WebImageError)
            -> PixelBuffer
        {
            var result = try MutablePixelBuffer(width: 1, height: 1)
            let red = pixels[0, 0][0]
            result.withUnsafeMutableBytes { $0.copyBytes(from: [red, value, UInt8(scale), 255]) }
            return result.freeze(isOpaque: true)
        }
    }

    @Test func takesImageProcessors() throws {
        let source = NumberedSource(3)
        let fixture = try PlayerFixture(source)
        let pools = fixture.pools
        let pool = pools.pool(for: source, processor: Painter(value: 7).erased, scale: 2)
        #expect(pools.pool(for: source, processor: Painter(value: 7).erased, scale: 2) === pool)
        #expect(pools.pool(for: source, processor: Painter(value: 8).erased, scale: 2) !== pool)
        #expect(pools.pool(for: source, processor: Painter(value: 7).erased) !== pool)
        let player = AnimationPlayer(
            try AnimatedImage(source, scale: 2), configuration: .init(processor: Painter(value: 7).erased),
            clock: fixture.clock, pools: pools)
        player.play()
        fixture.advance(1)
        #expect(player.currentFrame?[0, 0] == [1, 7, 2, 255])
    }

    @Test func takesClosuresAndChains() throws {
        let configuration = AnimationPlayer.Configuration(
            processor: .transform(id: "painted twice") { image, cancellation in
                try image.processed(
                    by: [Painter(value: 5).erased, Painter(value: 6).erased], cancellation: cancellation)
            })
        let fixture = try PlayerFixture(NumberedSource(3), configuration: configuration)
        fixture.player.play()
        fixture.advance(1)
        #expect(fixture.player.currentFrame?[0, 0] == [1, 6, 1, 255])
    }

    @Test func showsAProcessedFrameBeforeItPlays() throws {
        let processor = FrameClosure("none") { pixels, _ throws(WebImageError) in pixels }
        let fixture = try PlayerFixture(NumberedSource(3), configuration: .init(processor: processor.erased))
        fixture.settle()
        #expect(fixture.frames() == [0])
        #expect(fixture.player.status == .stopped)
    }

    @Test func decodesAtTheRequestedSizeAlsoLater() throws {
        let source = NumberedSource(3, frameSize: PixelSize(width: 40, height: 20))
        let fixture = try PlayerFixture(
            source, configuration: .init(thumbnail: Thumbnail(.pixels(width: 10, height: 10))))
        fixture.player.play()
        fixture.advance(1)
        #expect(fixture.player.currentFrame?.size == PixelSize(width: 10, height: 5))
        fixture.player.configuration.thumbnail = Thumbnail(.pixels(width: 100, height: 100))
        fixture.advance(1)
        #expect(fixture.player.currentFrame?.size == PixelSize(width: 40, height: 20), "never scaled up")
        #expect(fixture.frames().last == 2)
    }

    @Test func callsOnItsClockAndWithoutItsLock() throws {
        let fixture = try PlayerFixture(NumberedSource(3, loopCount: 1))
        let seen = LockBox<[AnimationPlayer.Status]>([])
        let player = fixture.player
        player.onEvent = { [weak player] event in
            // Control and observation from a call.
            guard let player else { return }
            seen.withLock { $0.append(player.status) }
            if case .finished = event { player.play() }
        }
        player.play()
        #expect(seen.withLock { $0 } == [], "not before the clock calls")
        fixture.advance(7)
        #expect(seen.withLock { $0 }.contains(.finished))
        #expect(player.status == .playing)
        player.onEvent = nil
        let count = seen.withLock { $0.count }
        fixture.advance(5)
        #expect(seen.withLock { $0.count } == count)
    }

    @Test func isReleasedWithItsLastReference() throws {
        let work = ManualWork()
        let clock = ManualTimerClock()
        let pools = FramePools(byteLimit: 1 << 20, pressureSource: nil, submit: work.submit)
        weak var gone: AnimationPlayer?
        do {
            let player = AnimationPlayer(try AnimatedImage(NumberedSource(9)), clock: clock, pools: pools)
            gone = player
            player.onEvent = { _ in }
            player.play()
            clock.advance(by: .seconds(1))
            work.run(3)
            #expect(pools.byteCount > 0)
        }
        #expect(gone == nil)
        #expect(pools.byteCount == 0)
        work.runAll()
        clock.advance(by: .seconds(1))
        #expect(clock.pendingCallCount == 0)
    }

    @Test func aHundredThousandFramesPlayAndSeek() throws {
        let source = NumberedSource(100_000, frameSize: PixelSize(width: 1, height: 1))
        let fixture = try PlayerFixture(source, capacity: 10)
        fixture.player.play()
        fixture.advance(3)
        #expect(fixture.frames() == [0, 1, 2, 3])
        fixture.settle()
        fixture.clock.jump(by: .seconds(86_400 * 30))
        fixture.settle()
        #expect(fixture.player.completedLoopCount == 86_400 * 300 / 100_000)
        #expect(fixture.pools.byteCount < 1_000)
    }
}
