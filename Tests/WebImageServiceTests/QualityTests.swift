import Foundation
import Testing
import WebImage
import WebImageTestSupport

@testable import WebImageService

/// Results that differ from the image no more than a bound says.
@Suite(.timeLimit(.minutes(2)))
struct QualityTests {
    /// Waves of growing frequency with some noise, which compress neither well nor badly.
    private static let photograph = Result {
        let (width, height) = (240, 180)
        var pixels = try MutablePixelBuffer(width: width, height: height)
        var state = UInt64(1)
        let stride = pixels.bytesPerRow
        pixels.withUnsafeMutableBytes { bytes in
            for y in 0..<height {
                for x in 0..<width {
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    let noise = Double(state >> 60) - 8
                    let wave = sin(Double(x * x) / 500 + Double(y) / 15)
                    for component in 0..<3 {
                        let value = 128 + 80 * wave * cos(Double(component + y) / 30) + noise
                        bytes[y * stride + x * 4 + component] = UInt8(min(max(value, 0), 255))
                    }
                    bytes[y * stride + x * 4 + 3] = 255
                }
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: true))
    }

    private static let file = Result { try CodecRegistry.shared.encode(photograph.get(), as: .png) }

    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        try directory.write(Self.file.get(), to: "a.png")
    }

    private func fixture(_ change: (inout ImageService.Configuration) -> Void = { _ in }) throws -> ServiceFixture {
        try ServiceFixture {
            $0.folder = URL(filePath: directory.path, directoryHint: .isDirectory)
            change(&$0)
        }
    }

    private func dissimilarity(_ answer: ServiceAnswer) throws -> Double {
        try (1 - ImageComparison(Self.photograph.get(), answer.image).structuralSimilarity) / 2
    }

    @Test(arguments: ["jpg", "webp"], [0.005, 0.02, 0.035])
    func aResultMeetsTheBoundAndIsShort(format: String, bound: Double) async throws {
        let fixture = try fixture()
        let answer = try await fixture.get("/aq:dssim:\(bound):5:100:0.0005/plain/local:///a.png@\(format)")
        #expect(answer.status == 200)
        let found = try dissimilarity(answer)
        #expect(found <= bound + 0.0005, "\(found)")
        // The highest quality that gives a shorter file does not meet it.
        var (lower, upper) = (5, 100)
        while upper - lower > 1 {
            let middle = (lower + upper) / 2
            let length = try await fixture.get("/q:\(middle)/plain/local:///a.png@\(format)").body.count
            if length < answer.body.count { lower = middle } else { upper = middle }
        }
        let shorter = try await fixture.get("/q:\(lower)/plain/local:///a.png@\(format)")
        #expect(shorter.body.count < answer.body.count)
        #expect(try dissimilarity(shorter) > bound)
    }

    @Test func theBestFormatIsTheShortestWithinTheBound() async throws {
        let fixture = try fixture()
        let options = "aq:dssim:0.02:5:100"
        let accept = ["Accept": "image/webp"]
        let best = try await fixture.get("/\(options)/plain/local:///a.png@best", accept)
        #expect(try dissimilarity(best) <= 0.021)
        var counts: [Int] = []
        for format in ["webp", "jpg", "png"] {
            let answer = try await fixture.get("/\(options)/plain/local:///a.png@\(format)")
            if try dissimilarity(answer) <= 0.021 { counts.append(answer.body.count) }
        }
        #expect(best.body.count == counts.min())
        // Without a bound, another file is the shortest.
        #expect(try await fixture.get("/plain/local:///a.png@best", accept).body.count != best.body.count)
        // If no quality meets it, the lossless format does.
        let exact = try await fixture.get("/aq:dssim:0:5:50:0/plain/local:///a.png@best", accept)
        #expect(try dissimilarity(exact) == 0)
    }

    @Test func otherOptionsTakePrecedence() async throws {
        let fixture = try fixture { $0.qualityBound = ImageService.QualityBound(dissimilarity: 0.005) }
        func count(_ options: String) async throws -> Int {
            try await fixture.get("/\(options)/plain/local:///a.png@jpg").body.count
        }
        let bounded = try await count("cb:1")
        let low = try await count("q:10")
        #expect(low < bounded)
        #expect(try await count("fq:jpg:10") == low)
        #expect(try await count("aq:none/fq:jpg:10") == low)
        #expect(try await count("aq:none") != bounded)
        #expect(try await count("mb:\(bounded / 2)") <= bounded / 2)
        // The highest quality, if none meets the bound.
        #expect(try await count("aq:dssim:0:10:10") == low)
    }

    @Test func aFormatHasQualitiesOfItsOwn() async throws {
        var bound = ImageService.QualityBound(dissimilarity: 0)
        bound.formatQualities = [.jpeg: 10...10]
        let fixture = try fixture { $0.qualityBound = bound }
        func count(_ options: String, _ format: String = "jpg") async throws -> Int {
            try await fixture.get("/\(options)/plain/local:///a.png@\(format)").body.count
        }
        #expect(try await count("cb:1") == count("q:10"))
        #expect(try await count("cb:1", "webp") == count("q:95", "webp"))
        // The bound of the path, too, unless it names qualities.
        #expect(try await count("aq:dssim:0.1") == count("q:10"))
        #expect(try await count("aq:dssim:0:20:20") == count("q:20"))
        // Without a bound for all paths, that of the option.
        let other = try self.fixture { $0.optionQualityBound = bound }
        func otherCount(_ options: String) async throws -> Int {
            try await other.get("/\(options)/plain/local:///a.png@jpg").body.count
        }
        #expect(try await otherCount("aq:dssim:0.1") == count("q:10"))
        #expect(try await otherCount("cb:1") == count("aq:none"))
        #expect(try await otherCount("aq:none/aq:dssim:0.1") == count("q:10"))
    }

    @Test func theNumberOfEncodesIsLimited() async throws {
        let counter = CountingEncoder()
        func encodes(_ limit: Int) async throws -> Int {
            let before = counter.count
            let fixture = try fixture { configuration in
                let codecs = CodecRegistry()
                codecs.register(counter)
                configuration.images.codecs = codecs
                configuration.limits.encodingCount = limit
                configuration.offeredFormats = []
            }
            #expect(try await fixture.get("/aq:dssim:0.01:1:100:0/plain/local:///a.png@jpg").status == 200)
            return counter.count - before
        }
        #expect(try await encodes(0) == 1)
        #expect(try await encodes(3) == 3)
        let all = try await encodes(100)
        #expect((4...7).contains(all), "\(all)")
    }

    /// A result may exceed the bound by it, and the first that differs no more ends the search.
    @Test func theAllowedErrorEndsTheSearch() async throws {
        let counter = CountingEncoder()
        func encodes(_ allowedError: Double, _ path: String = "/cb:1") async throws -> Int {
            let before = counter.count
            let fixture = try fixture { configuration in
                let codecs = CodecRegistry()
                codecs.register(counter)
                configuration.images.codecs = codecs
                var bound = ImageService.QualityBound(dissimilarity: 0.01)
                (bound.allowedError, bound.qualities) = (allowedError, 1...100)
                configuration.qualityBound = bound
                configuration.offeredFormats = []
            }
            #expect(try await fixture.get("\(path)/plain/local:///a.png@jpg").status == 200)
            return counter.count - before
        }
        #expect(try await encodes(1) == 1)
        #expect(try await encodes(0) > 3)
        // A path that names none has that of the configuration.
        #expect(try await encodes(1, "/aq:dssim:0.01:1:100") == 1)
        #expect(try await encodes(1, "/aq:dssim:0.01:1:100:0") > 3)
    }

    @Test func anAnimationIsMeasuredByItsFirstFrame() async throws {
        let fixture = try fixture()
        var animation = EncodableAnimation()
        animation.append(try Self.photograph.get())
        animation.append(try ServiceFixture.picture(width: 240, height: 180))
        try directory.write(CodecRegistry.shared.encode(animation, as: .gif), to: "a.gif")
        let answer = try await fixture.get("/aq:dssim:0.03/plain/local:///a.gif@webp")
        #expect(answer.status == 200)
        #expect(try CodecRegistry.shared.info(of: answer.bytes).frameCount == 2)
    }

    @Test(arguments: [
        "aq:ml", "aq:size:1000", "aq:dssim:2", "aq:dssim:0.1:90:10", "aq:dssim:x", "aq", "aq:dssim:1:1:1:1:1",
    ])
    func invalidBoundsAreRefused(option: String) async throws {
        #expect(try await fixture().get("/\(option)/plain/local:///a.png").status == 400)
    }
}

/// JPEG's encoder, which counts its calls.
private final class CountingEncoder: ImageEncoder {
    private let calls = LockBox(0)

    var format: ImageFormat { .jpeg }
    var count: Int { calls.withLock { $0 } }

    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        calls.withLock { $0 += 1 }
        return try CodecRegistry.shared.encode(image, as: .jpeg, options: options)
    }
}
