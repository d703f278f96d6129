import Foundation
import Testing
import WebImageCoding
@testable import WebImageCore
import WebImageTestSupport

@testable import WebImageAnimation

/// Compares each frame with the pixels of other programs, in any order and with any memory limit.
@Suite(.timeLimit(.minutes(3))) struct ReferencePlaybackTests {
    /// Compares the frames of a player on a manual clock with the reference. Returns their number.
    private func compare(
        _ animation: ReferenceAnimation, _ configuration: AnimationPlayer.Configuration, frameRoom: Int?,
        drive: (AnimationPlayer, () -> Void) -> Void
    ) throws -> Int {
        let image = try AnimatedImage(data: animation.data())
        let expected = try animation.frames(count: image.source.frameCount)
        let (clock, work) = (ManualTimerClock(), ManualWork())
        let byteLimit = frameRoom.map { $0 * image.source.frameByteCount } ?? 1 << 30
        let pools = FramePools(byteLimit: byteLimit, pressureSource: nil, submit: work.submit)
        let player = AnimationPlayer(image, configuration: configuration, clock: clock, pools: pools)
        let told = LockBox<[(Int, [UInt8])]>([])
        player.onEvent = { event in
            guard case .frame(let index, let pixels) = event else { return }
            told.withLock { $0.append((index, pixels.withUnsafeBytes { Array($0) })) }
        }
        let settle = {
            clock.advance()
            while work.count > 0 {
                work.runAll()
                clock.advance()
            }
        }
        drive(player) {
            settle()
            if let next = clock.nextCallTime { clock.advance(by: next - clock.now) }
            settle()
        }
        let frames = told.withLock { $0 }
        for (index, bytes) in frames {
            let isSame = animation.matches(bytes, expected[index])
            #expect(isSame, "\(animation.name), frame \(index)")
        }
        #expect(Set(frames.map(\.0)).count == expected.count, "\(animation.name): all of them were shown")
        #expect(player.droppedFrameCount == 0)
        return frames.count
    }

    @Test(arguments: ReferenceAnimation.all, PlaybackMode.allCases)
    func playsThePixelsOfOtherPrograms(_ animation: ReferenceAnimation, mode: PlaybackMode) throws {
        for frameRoom in [nil, 3] {
            _ = try compare(
                animation, .init(mode: mode, loopCount: 2), frameRoom: frameRoom
            ) { player, step in
                player.play()
                for _ in 0..<100 where player.status == .playing { step() }
                #expect(player.status == .finished)
            }
        }
    }

    @Test(arguments: ReferenceAnimation.all)
    func seeksThePixelsOfOtherProgramsInAnyOrder(_ animation: ReferenceAnimation) throws {
        for frameRoom in [nil, 2] {
            var generator = SplitMix64(seed: 7)
            _ = try compare(animation, .init(), frameRoom: frameRoom) { player, step in
                let count = player.image.source.frameCount
                for index in (0..<count).shuffled(using: &generator) + (0..<count).shuffled(using: &generator) {
                    player.seek(toFrame: index)
                    step()
                    #expect(player.currentFrameIndex == index)
                }
            }
        }
    }

    /// As from a network: the frames so far, repeatedly.
    @Test(arguments: ["gif-mixed.gif", "apng-mixed.png", "animated-parts.webp"])
    func playsArrivingDataWithThePixelsOfOtherPrograms(_ name: String) throws {
        let animation = ReferenceAnimation(name: name)
        let data = try animation.data()
        let (clock, work) = (ManualTimerClock(), ManualWork())
        let pools = FramePools(byteLimit: 1 << 30, pressureSource: nil, submit: work.submit)
        let told = LockBox<[(Int, [UInt8])]>([])
        let step = {
            clock.advance(by: .seconds(10))
            work.runAll()
            clock.advance()
        }
        var player: AnimationPlayer?
        func show(_ image: Image?) {
            guard let image, image.animation != nil else { return }
            guard player == nil else { return player?.update(to: AnimatedImage(image)) ?? () }
            player = AnimationPlayer(
                AnimatedImage(image), configuration: .init(loopCount: 1, dropsLateFrames: false), clock: clock,
                pools: pools)
            player?.onEvent = { event in
                guard case .frame(let index, let pixels) = event else { return }
                told.withLock { $0.append((index, pixels.withUnsafeBytes { Array($0) })) }
            }
            player?.play()
        }
        let decoder = try #require(
            try CodecRegistry.builtIn.makeIncrementalDecoder(startingWith: data.prefix(12)))
        var identities: Set<AnimationIdentity> = []
        for start in stride(from: 12, to: data.count, by: 40) {
            try decoder.append(data[start..<min(start + 40, data.count)])
            var image = try decoder.preview()
            image?.animation = decoder.animation
            if let identity = decoder.animation?.identity { identities.insert(identity) }
            show(image)
            for _ in 0..<3 { step() }
        }
        let whole = try decoder.finish()
        if let identity = whole.animation?.identity { identities.insert(identity) }
        show(whole)
        for _ in 0..<30 { step() }
        #expect(identities.count == 1, "one pool for all of them")
        let expected = try animation.frames(count: whole.frameCount)
        let frames = told.withLock { $0 }
        #expect(frames.map(\.0) == Array(expected.indices))
        for (index, bytes) in frames {
            let isSame = animation.matches(bytes, expected[index])
            #expect(isSame, "frame \(index)")
        }
        #expect(player?.status == .finished)
    }
}

/// A committed animation and its frames from other programs; see Tests/Fixtures.
struct ReferenceAnimation: Sendable, CustomStringConvertible {
    let name: String
    var description: String { name }

    static let all = [
        "gif-dispose-0.gif", "gif-dispose-1.gif", "gif-dispose-2.gif", "gif-dispose-3.gif", "gif-mixed.gif",
        "gif-outside.gif", "apng-mixed.png", "apng-16.png", "apng-adam7.png",
        "apng-other-still.png", "apng-palette.png", "apng-restore-over.png", "apng-clear-source.png",
        "animated-parts.webp", "animated-small-first.webp",
    ].map(ReferenceAnimation.init)

    private static let directory = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/images")

    func data() throws -> Data { try Data(contentsOf: Self.directory.appending(path: name)) }

    /// Premultiplied RGBA of each frame, without gaps between rows.
    func frames(count: Int) throws -> [[UInt8]] {
        if name.hasSuffix(".png") {
            return try (0..<count).map { try Self.pixels("\(name)\($0 == 0 ? "" : "-frame\($0)").rgba") }
        }
        // One below the other.
        let all = try Self.pixels(name + (name.hasSuffix(".gif") ? ".frames.rgba" : "-frames.rgba"))
        let length = all.count / count
        return (0..<count).map { Array(all[$0 * length..<($0 + 1) * length]) }
    }

    /// The allowed difference of a byte: Pillow blends the straight colors of a WebP, which rounds differently.
    private var tolerance: Int { name.hasSuffix(".webp") ? 3 : 0 }

    func matches(_ pixels: [UInt8], _ reference: [UInt8]) -> Bool {
        if pixels == reference { return true }
        return pixels.count == reference.count
            && zip(pixels, reference).allSatisfy { abs(Int($0) - Int($1)) <= tolerance }
    }

    /// Without the width and height in front.
    private static func pixels(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: directory.appending(path: name)).dropFirst(8))
    }
}
