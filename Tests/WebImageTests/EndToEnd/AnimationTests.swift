import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport
@testable import WebImageCore
@testable import WebImageAnimation

/// From an address to the frames on show.
@Suite(.timeLimit(.minutes(1))) struct AnimationTests {
    /// Three frames that differ, 0.1 s each, twice.
    private static func gif() throws -> Data {
        var animation = EncodableAnimation(loopCount: 2)
        for number in [40, 80, 120] { animation.append(try SolidPicture(number).png(), duration: .milliseconds(100)) }
        return try CodecRegistry.shared.encode(animation, as: .gif)
    }

    /// The red of every frame that a player of `image` tells until it is finished.
    private func played(_ image: Image, in pools: FramePools, _ work: DecodingWork) -> [UInt8] {
        let told = LockBox<[UInt8]>([])
        let clock = ManualTimerClock()
        let player = AnimationPlayer(AnimatedImage(image), clock: clock, pools: pools)
        player.onEvent = { event in
            if case .frame(_, let pixels) = event { told.withLock { $0.append(pixels[0, 0].x) } }
        }
        player.play()
        for _ in 0..<20 where player.status == .playing {
            clock.advance()
            work.runAll()
            clock.advance(by: .milliseconds(100))
        }
        #expect(player.status == .finished)
        #expect(player.completedLoopCount == 2)
        return told.withLock { $0 }
    }

    @Test func aLoadedAnimationGoesStraightIntoAPlayer() async throws {
        let fixture = try ManagerFixture()
        let request = WebImageRequest(try ManagerFixture.url("a"))
        async let response = fixture.manager.response(for: request)
        try await fixture.nextLoad().answer(try Self.gif(), contentType: "image/gif")
        let image = try await response.image
        #expect(image.frameCount == 3)

        let work = DecodingWork()
        let pools = FramePools(byteLimit: 1 << 20, pressureSource: nil, submit: work.submit)
        #expect(played(image, in: pools, work) == [40, 80, 120, 40, 80, 120])
        // From memory, with its frames; one pool serves both.
        let again = try await fixture.manager.response(for: request)
        #expect(again.origin == .memoryCache)
        #expect(again.image.animation?.identity == image.animation?.identity)
        #expect(played(again.image, in: pools, work) == [40, 80, 120, 40, 80, 120])
    }

    @Test func aProcessedAnimationPlaysProcessedFrames() async throws {
        let fixture = try ManagerFixture()
        let request = WebImageRequest(
            try ManagerFixture.url("a"),
            processors: [.resize(to: .points(width: 4, height: 3), mode: .stretch)])
        async let response = fixture.manager.response(for: request)
        try await fixture.nextLoad().answer(try Self.gif(), contentType: "image/gif")
        let image = try await response.image
        #expect(image.animation?.frameSize == PixelSize(width: 4, height: 3))

        let work = DecodingWork()
        let pools = FramePools(byteLimit: 1 << 20, pressureSource: nil, submit: work.submit)
        #expect(played(image, in: pools, work) == [40, 80, 120, 40, 80, 120])
    }

    /// Work that waits until the test does it.
    private final class DecodingWork: Sendable {
        private let waiting = LockBox<[@Sendable () -> Void]>([])

        var submit: @Sendable (LoadPriority, @escaping @Sendable () -> Void) -> Void {
            { [self] _, body in waiting.withLock { $0.append(body) } }
        }

        func runAll() {
            while let next = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { next() }
        }
    }
}
