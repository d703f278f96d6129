import Foundation
import Synchronization
import Testing
import WebImageTestSupport

@testable import WebImageCore

/// Caches revive images by weak references on other threads than the one that thaws them.
@Suite(.timeLimit(.minutes(3))) struct ThawingRaceTests {
    /// The owner never waits for the other thread, which revives what it can, and looks at it once the owner is done.
    @Test func thawingDoesNotChangeConcurrentlyRevivedPixels() async throws {
        let race = Race()
        async let changedCount = race.reviveUntilEnd()
        for number in 1...Race.roundCount {
            var own: PixelBuffer? = try pixels(of: 7)
            race.revive.withLock { $0 = { [weak own] in own } }
            race.begunCount.store(number, ordering: .releasing)
            if var pixels = try MutablePixelBuffer(thawing: &own) { pixels.withUnsafeMutableBytes { $0[0] = 9 } }
            race.endedCount.store(number, ordering: .releasing)
        }
        #expect(await changedCount == 0)
    }

    private func pixels(of byte: UInt8) throws -> PixelBuffer {
        var pixels = try MutablePixelBuffer(width: 1, height: 1)
        pixels.withUnsafeMutableBytes { $0[0] = byte }
        return pixels.freeze(isOpaque: false)
    }

    private final class Race: Sendable {
        static let roundCount = 30_000

        let revive = LockBox<(@Sendable () -> PixelBuffer?)?>(nil)
        let begunCount = Atomic(0)
        let endedCount = Atomic(0)

        /// Returns how many images changed after they were revived.
        func reviveUntilEnd() async -> Int {
            await withCheckedContinuation { continuation in
                Thread { continuation.resume(returning: self.changedCount()) }.start()
            }
        }

        private func changedCount() -> Int {
            var generator = SplitMix64(seed: 1)
            var (changed, number) = (0, 0)
            while number < Self.roundCount {
                let begun = begunCount.load(ordering: .acquiring)
                guard begun > number else { continue }
                number = begun
                let revive = revive.withLock { $0 }
                for _ in 0..<Int.random(in: 0...60, using: &generator) { _ = begunCount.load(ordering: .relaxed) }
                guard let pixels = revive?() else { continue }
                while endedCount.load(ordering: .acquiring) < number {}
                if pixels[0, 0].x != 7 { changed += 1 }
            }
            return changed
        }
    }
}
