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

    /// `data` with 2,000 bytes more beside its picture, where its format has a place for such.
    private func withMetadata(_ data: Data) -> Data {
        let text = Data(repeating: 65, count: 2000)
        var data = data
        switch ImageFormat(signatureOf: data) {
        case .jpeg: data.insert(contentsOf: [0xFF, 0xE5] + PNGWriter.number(2002, byteCount: 2) + text, at: 2)
        case .png: data.insert(contentsOf: PNGWriter.chunk("tEXt", text), at: 33)
        case .gif:
            data.insert(
                contentsOf: [0x21, 0xFE] + (0..<8).flatMap { _ in [250] + text.prefix(250) } + [0], at: data.count - 1)
        default:
            data.appendWebPChunk("TEXT", text)
            data.setRIFFLength()
        }
        return data
    }

    @Test(arguments: ["baseline-420.jpg", "progressive-420.jpg", "rgb-8.png", "interlaced.gif", "lossy.webp"])
    func refusesMoreMetadataThanAllowed(_ name: String) throws {
        let plain = try Fixture(name).data()
        let data = withMetadata(plain)
        var options = DecodingOptions()
        options.limits.metadataByteCount = 3000
        #expect(try Pixels(registry.decode(data, options: options).pixels) == Pixels(registry.decode(plain).pixels))
        #expect(throws: Never.self) { try inPieces(data, options) }
        options.limits.metadataByteCount = 1999
        for attempt in [{ try registry.decode(data, options: options) }, { try inPieces(data, options) }]
            as [() throws -> Image?]
        {
            let error = #expect(throws: WebImageError.self) { try attempt() }
            guard case .metadataTooLarge(let byteCount, limit: 1999) = error else {
                Issue.record("\(error.map { "\($0)" } ?? "no error")")
                continue
            }
            #expect((2000...3000).contains(byteCount))
        }
    }

    /// Each would be kept until it is whole.
    @Test func refusesMetadataAsItArrives() throws {
        var options = DecodingOptions()
        options.limits.metadataByteCount = 1000
        let header = PNGWriter.signature + PNGWriter.header(PixelSize(width: 1, height: 1), color: .gray)
        let png = header + PNGWriter.number(1 << 30) + Data("tEXt".utf8) + Data(count: 1001)
        let jpeg = Data([0xFF, 0xD8, 0xFF, 0xE5, 0xFF, 0xFF]) + Data(count: 1001)
        for data in [png, jpeg] {
            let error = #expect(throws: WebImageError.self) {
                let decoder = try registry.makeIncrementalDecoder(startingWith: data.prefix(40), options: options)
                try decoder?.append(data.dropFirst(40))
            }
            #expect(error?.code == 310)
        }
    }

    /// A profile never makes a picture fail; one that unpacks to more counts as none.
    @Test func leavesOutAProfileThatUnpacksToMoreThanAllowed() throws {
        let data = try Data(contentsOf: Fixture.directory.appending(path: "../color/adobe.png"))
        let profile = try #require(PNGColorChunks(reading: data.bytes).profile)
        #expect(PNGColorChunks(reading: data.bytes, profileByteLimit: profile.bytes.count).profile == profile)
        #expect(PNGColorChunks(reading: data.bytes, profileByteLimit: profile.bytes.count - 1).profile == nil)
    }

    /// A frame of 12 bytes is remembered in ten times as much.
    @Test func remembersNoMoreFramesThanAllowed() {
        var file = Data("GIF89a".utf8) + [1, 0, 1, 0, 0, 0, 0]
        for _ in 0..<60_000 { file += [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 0] }
        #expect(throws: WebImageError.tooManyFrames(limit: 50_000)) { try registry.decode(file) }
        #expect(throws: WebImageError.tooManyFrames(limit: 50_000)) { try registry.info(of: file) }
    }
}
