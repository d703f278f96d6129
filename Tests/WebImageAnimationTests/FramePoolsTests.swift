import FoundationEssentials
import Testing
@testable import WebImageCore
import WebImageTestSupport

@testable import WebImageAnimation

/// How pools share memory.
@Suite(.timeLimit(.minutes(3))) struct FramePoolsTests {
    private let frame = NumberedSource.frameByteCount

    @Test func theLimitHoldsForAllPoolsTogether() throws {
        let fixtures = LockBox<[PlayerFixture]>([])
        let first = try PlayerFixture(NumberedSource(40), capacity: 40)
        fixtures.withLock { $0.append(first) }
        for _ in 0..<3 {
            let fixture = try PlayerFixture(NumberedSource(40), beside: first)
            fixtures.withLock { $0.append(fixture) }
        }
        let all = fixtures.withLock { $0 }
        for (index, fixture) in all.enumerated() {
            fixture.player.play()
            first.advance(10)
            let frames = all.reduce(0) { $0 + ($1.player.poolStatistics?.byteCount ?? 0) }
            #expect(frames <= 40 * frame, "\(index)")
        }
        first.advance(60)
        for fixture in all {
            #expect(fixture.player.poolStatistics?.frameCount == 10, "an equal share")
            #expect(fixture.player.droppedFrameCount == 0)
        }
    }

    @Test func smallPoolsLeaveTheRestToLargeOnes() throws {
        let small = try PlayerFixture(NumberedSource(4), capacity: 40)
        let large = try PlayerFixture(NumberedSource(100), beside: small)
        small.player.play()
        large.player.play()
        small.advance(120)
        #expect(small.player.poolStatistics?.frameCount == 4)
        #expect(large.player.poolStatistics?.frameCount == 36)
    }

    @Test func visiblePlayersComeFirst() throws {
        let first = try PlayerFixture(NumberedSource(30), capacity: 40)
        let second = try PlayerFixture(NumberedSource(30), beside: first)
        first.player.play()
        first.advance(40)
        #expect(first.player.poolStatistics?.frameCount == 30)
        first.player.pause()
        second.player.play()
        first.advance(40)
        #expect(second.player.poolStatistics?.frameCount == 30)
        #expect(first.player.poolStatistics?.frameCount == 10, "what is left over")
        second.player.stop()
        first.player.play()
        first.advance(40)
        #expect(first.player.poolStatistics?.frameCount == 30)
    }

    @Test func eachPoolIsLimited() throws {
        let fixture = try PlayerFixture(NumberedSource(30))
        fixture.pools.poolByteLimit = 5 * frame
        fixture.player.play()
        fixture.advance(40)
        #expect(fixture.player.poolStatistics?.frameCount == 5)
        fixture.pools.poolByteLimit = 0
        fixture.advance(5)
        #expect(fixture.player.poolStatistics?.frameCount == 2, "one to show, and the next")
        fixture.pools.poolByteLimit = .max
        fixture.advance(40)
        #expect(fixture.player.poolStatistics?.frameCount == 30)
        #expect(fixture.player.droppedFrameCount == 0)
    }

    /// The limits that programs set are those of all players that have no pools of their own.
    @Test func theLimitsOfPlayersAreThoseOfTheSharedPools() async throws {
        defer { (AnimationPlayer.frameByteLimit, AnimationPlayer.animationByteLimit) = (nil, .max) }
        AnimationPlayer.frameByteLimit = 1 << 20
        #expect(AnimationPlayer.frameByteLimit == 1 << 20 && AnimationPlayer.animationByteLimit == .max)
        let clock = ManualTimerClock()
        let player = AnimationPlayer(try AnimatedImage(NumberedSource(30)), clock: clock)
        #expect(player.cachedFrameCount == 0)
        player.play()
        while player.cachedFrameCount < 30, !Task.isCancelled {
            clock.advance(by: .milliseconds(100))
            await Task.yield()
        }
        AnimationPlayer.animationByteLimit = 10 * frame
        #expect(player.cachedFrameCount == 10)
        AnimationPlayer.frameByteLimit = 5 * frame
        #expect(player.cachedFrameCount == 5)
    }

    @Test func removedFramesAreDecodedAgain() throws {
        let source = NumberedSource(30)
        let fixture = try PlayerFixture(source)
        fixture.player.play()
        fixture.advance(40)
        #expect(fixture.player.cachedFrameCount == 30)
        _ = fixture.frames()
        let decodedCount = source.log.asked.count
        fixture.player.removeCachedFrames()
        #expect(fixture.player.cachedFrameCount < 3)
        fixture.advance(40)
        #expect(fixture.player.cachedFrameCount == 30)
        #expect(source.log.asked.count >= decodedCount + 27)
        #expect(fixture.frames() == (41...80).map { $0 % 30 })
        #expect(fixture.player.droppedFrameCount == 0)
    }

    @Test func aPausedAnimationKeepsToTheLimit() throws {
        let fixture = try PlayerFixture(NumberedSource(30), capacity: 1)
        fixture.player.play()
        fixture.advance(5)
        #expect(fixture.player.poolStatistics?.frameCount == 2, "one to show, and the next")
        fixture.player.pause()
        fixture.settle()
        #expect(fixture.player.poolStatistics?.frameCount == 1)
    }

    @Test func aLowerLimitTakesEffectImmediately() throws {
        let fixture = try PlayerFixture(NumberedSource(30))
        fixture.player.play()
        fixture.advance(40)
        fixture.pools.byteLimit = 10 * frame
        #expect(fixture.player.poolStatistics?.byteCount == 10 * frame)
    }

    @Test func manyPlayersInTheSmallestMemoryAllGetTheirFrames() throws {
        let source = NumberedSource(50)
        let first = try PlayerFixture(source, capacity: 1)
        let others = try (1..<8).map { _ in try PlayerFixture(source, beside: first) }
        for (index, fixture) in ([first] + others).enumerated() {
            fixture.player.seek(toFrame: index * 6)
            fixture.player.play()
        }
        first.advance(20)
        for (index, fixture) in ([first] + others).enumerated() {
            #expect(fixture.player.currentFrameIndex == (index * 6 + 20) % 50)
            #expect(fixture.player.poolStatistics?.frameCount ?? 0 <= 2)
        }
    }

    @Test func idlePoolsKeepNothingWithoutSpareMemory() throws {
        let first = try PlayerFixture(NumberedSource(20), capacity: 10)
        let others = try (0..<9).map { _ in try PlayerFixture(NumberedSource(20), beside: first) }
        for fixture in others {
            fixture.player.play()
            first.advance(5)
            fixture.player.pause()
        }
        first.player.play()
        first.advance(20)
        let kept = others.reduce(0) { $0 + ($1.player.poolStatistics?.byteCount ?? 0) }
        #expect(kept == 0)
        #expect(first.player.poolStatistics?.byteCount == 10 * frame)
        others[0].player.play()
        first.advance(10)
        #expect(others[0].player.droppedFrameCount == 0)
    }

    @Test func oneAnimationOnManyThreadsHasOnePool() async throws {
        let pools = FramePools(byteLimit: 1 << 20, pressureSource: nil) { _, _ in }
        let source = NumberedSource(1_000)
        let found = await withTaskGroup(of: FramePool.self) { group in
            for _ in 0..<16 { group.addTask { pools.pool(for: source) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(found.map(ObjectIdentifier.init)).count == 1)
        #expect(pools.allowance(ofPool: found[0].number) == 1_000 * frame)
    }

    @Test func hugeSizesDoNotOverflow() {
        let pools = FramePools(byteLimit: 1 << 20, pressureSource: nil) { _, _ in }
        let pool = pools.pool(for: NumberedSource(1_000, frameSize: PixelSize(width: 1 << 40, height: 1 << 40)))
        #expect(pool.neededByteCount > 1 << 50)
    }

    @Test func theDefaultIsAFifthOfTheMemoryAtMost() {
        let limit = FramePools.defaultByteLimit()
        #expect(limit >= 10 << 20)
        #expect(limit <= max(10 << 20, AvailableMemory.totalBytes() / 5))
        #expect(limit <= max(10 << 20, AvailableMemory.freeBytes() + (64 << 20)))
    }

    @Test func theDefaultIsAtMostThreeFifthsOfFreeMemory() throws {
        let root = try TemporaryDirectory()
        func limit(availableKilobytes: Int, taken: Int = 0) throws -> Int {
            try root.write(Data("MemAvailable: \(availableKilobytes) kB\n".utf8), to: "proc/meminfo")
            return FramePools.defaultByteLimit(besides: taken, physicalBytes: 1 << 30, fileSystemRoot: root.path)
        }
        #expect(try limit(availableKilobytes: 1 << 20) == (1 << 30) / 5)
        #expect(try limit(availableKilobytes: 100_000) == 61_440_000)
        #expect(
            try limit(availableKilobytes: 100_000, taken: 50_000_000) == 91_440_000, "frames can make room for frames")
        #expect(try limit(availableKilobytes: 1_000) == 10 << 20)
    }

    @Test func theDefaultIsMeasuredOnAnotherThread() throws {
        let work = ManualWork()
        let pools = FramePools(byteLimit: nil, pressureSource: nil, submit: work.submit)
        let pool = pools.pool(for: NumberedSource(3))
        #expect(work.count == 1)
        let another = pools.pool(for: NumberedSource(3))
        #expect(work.count == 1, "not again so soon")
        work.runAll()
        withExtendedLifetime((pool, another)) {}
    }

    // MARK: Pressure

    @Test func pressureReleasesFramesNotShownAndRecoveryIsGradual() throws {
        let pressure = MemoryPressureSource()
        let fixture = try PlayerFixture(NumberedSource(100), pressureSource: pressure)
        fixture.player.play()
        fixture.advance(110)
        #expect(fixture.player.poolStatistics?.frameCount == 100)
        #expect(pressure.observerCount == 1)
        pressure.report(.critical)
        #expect(fixture.player.poolStatistics?.frameCount == 2)
        _ = fixture.frames()
        var counts: [Int] = []
        for _ in 0..<200 {
            fixture.advance(1)
            counts.append(fixture.player.poolStatistics?.frameCount ?? 0)
        }
        #expect(fixture.frames().count == 200, "it plays on")
        #expect(fixture.player.droppedFrameCount == 0)
        #expect(counts[10] == 2, "not at once")
        #expect(zip(counts, counts.dropFirst()).allSatisfy { $1 - $0 <= 4 }, "little by little")
        #expect(counts.last == 100)
    }

    @Test func recoveryIsAsGradualWithManyPlayers() throws {
        let pressure = MemoryPressureSource()
        let source = NumberedSource(100)
        let first = try PlayerFixture(source, pressureSource: pressure)
        let others = try (0..<19).map { _ in try PlayerFixture(source, beside: first) }
        for fixture in [first] + others { fixture.player.play() }
        first.advance(110)
        pressure.report(.critical)
        first.advance(40)
        #expect(first.player.poolStatistics?.frameCount == 2)
        first.advance(300)
        #expect(others.last?.player.poolStatistics?.frameCount == 100)
    }

    @Test func aWarningReleasesHalf() throws {
        let pressure = MemoryPressureSource()
        let fixture = try PlayerFixture(NumberedSource(100), pressureSource: pressure)
        fixture.player.play()
        fixture.advance(110)
        pressure.report(.warning)
        #expect(fixture.player.poolStatistics?.frameCount == 50)
    }

    @Test func observesPressureOnlyWhileThereArePools() throws {
        let pressure = MemoryPressureSource()
        let pools = FramePools(byteLimit: 1 << 20, pressureSource: pressure)
        #expect(pressure.observerCount == 0)
        do {
            let pool = pools.pool(for: NumberedSource(3))
            #expect(pressure.observerCount == 1)
            withExtendedLifetime(pool) {}
        }
        #expect(pressure.observerCount == 0)
    }
}
