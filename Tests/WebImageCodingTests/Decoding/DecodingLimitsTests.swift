import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// Each limit has an error of its own, one-shot and in pieces.
@Suite struct DecodingLimitsTests {
    private let registry = CodecRegistry()

    private func inPieces(_ data: Data, _ options: DecodingOptions) throws -> Image? {
        let decoder = try registry.makeIncrementalDecoder(startingWith: data.prefix(40), options: options)
        try decoder?.append(data.dropFirst(40))
        return try decoder?.finish()
    }

    @Test(arguments: ["animated.gif", "animated.png", "animated.webp"])
    func refusesMoreFramesThanAllowed(_ name: String) throws {
        let data = try Fixture(name).data()
        var options = DecodingOptions()
        options.limits.frameCount = 3
        #expect(try registry.decode(data, options: options).frameCount == 3)
        options.limits.frameCount = 2
        #expect(throws: WebImageError.tooManyFrames(limit: 2)) { try registry.decode(data, options: options) }
        #expect(throws: WebImageError.tooManyFrames(limit: 2)) { try registry.animation(of: data, options: options) }
        #expect(throws: WebImageError.tooManyFrames(limit: 2)) { try inPieces(data, options) }
    }

    @Test(arguments: ["animated.gif", "animated.png", "animated.webp"])
    func refusesAnAnimationOfMoreBytesThanAllowed(_ name: String) throws {
        let data = try Fixture(name).data()
        var options = DecodingOptions()
        // More than one frame, less than three.
        let limit = try registry.info(of: data).size.pixelCount * 4
        options.limits.animationByteCount = limit
        #expect { try registry.animation(of: data, options: options) } throws: { error in
            guard case .animationTooLarge(let byteCount, limit) = error as? WebImageError else { return false }
            return byteCount > limit
        }
        #expect(throws: WebImageError.self) { try registry.decode(data, options: options) }
        options.firstFrameOnly = true
        #expect(try registry.decode(data, options: options).animation == nil)
        options.firstFrameOnly = false
        options.limits.animationByteCount = limit * 3
        #expect(try registry.decode(data, options: options).animation?.frameCount == 3)
    }

    @Test(arguments: ["photo.jpg", "progressive-420.jpg", "rgb-8.png", "interlaced.gif", "lossy.webp"])
    func givesUpWhenTimeIsOver(_ name: String) throws {
        let data = try Fixture(name).data()
        var options = DecodingOptions()
        options.limits.seconds = 1000
        #expect(throws: Never.self) { try registry.decode(data, options: options) }
        options.limits.seconds = 0
        #expect(throws: WebImageError.decodingTimedOut(seconds: 0)) { try registry.decode(data, options: options) }
        #expect(throws: WebImageError.decodingTimedOut(seconds: 0)) { try inPieces(data, options) }
    }

    @Test func givesEachFrameOfAnAnimationTheTime() throws {
        var options = DecodingOptions()
        options.limits.seconds = 1000
        let data = try Fixture("animated.gif").data()
        let reader = try #require(try registry.animation(of: data, options: options)).makeFrameReader()
        #expect(throws: Never.self) { try reader.frame(at: 1, cancellation: nil) }
        let cancellation = Cancellation()
        cancellation.cancel()
        #expect(throws: WebImageError.cancelled) { try reader.frame(at: 2, cancellation: cancellation) }
    }

    /// A frame of 12 bytes is remembered in ten times as much.
    @Test func remembersNoMoreFramesThanAllowed() {
        var file = Data("GIF89a".utf8) + [1, 0, 1, 0, 0, 0, 0]
        for _ in 0..<60_000 { file += [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 0] }
        #expect(throws: WebImageError.tooManyFrames(limit: 50_000)) { try registry.decode(file) }
        #expect(throws: WebImageError.tooManyFrames(limit: 50_000)) { try registry.info(of: file) }
    }
}
