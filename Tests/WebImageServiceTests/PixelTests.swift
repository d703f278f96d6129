import Foundation
import Testing
import WebImage
import WebImageTestSupport

@testable import WebImageService

/// What options do to pixels. The picture has quarters of red, green, blue and white.
@Suite(.timeLimit(.minutes(1)))
struct PixelTests {
    private static let origin = Result { try OriginServer() }

    private func fixture(_ change: (inout ImageService.Configuration) -> Void = { _ in }) async throws -> ServiceFixture
    {
        let fixture = try ServiceFixture(Self.origin.get(), change)
        try await fixture.serve("/a.png", width: 80, height: 40)
        return fixture
    }

    @Test(arguments: [
        ("w:40", [40, 20], "RGBW"), ("rs:fill:20:20", [20, 20], "RGBW"), ("rs:fill:20:20/g:we", [20, 20], "RRBB"),
        ("rs:fill:20:20/g:ea", [20, 20], "GGWW"), ("c:40:20:nowe", [40, 20], "RRRR"),
        ("c:0.5:0.5:soea", [40, 20], "WWWW"),
        ("c:40:20:soea/w:10", [10, 5], "WWWW"), ("c:40:20:ce", [40, 20], "RGBW"), ("rot:90", [40, 80], "BRWG"),
        ("rot:180", [80, 40], "WBGR"), ("rot:90/w:20", [20, 40], "BRWG"), ("rot:270/w:20", [20, 40], "GWRB"),
        ("fl:1", [80, 40], "GRWB"),
        ("fl:0:1", [80, 40], "BWRG"), ("w:40/pd:2", [44, 24], "RGBW"), ("rs:fit:40:24:0:1/f:png", [40, 24], "RGBW"),
        ("pix:20", [80, 40], "RGBW"), ("bl:1", [80, 40], "RGBW"),
        ("sh:2", [80, 40], "RGBW"), ("g:fp:1:1/c:8:8", [8, 8], "WWWW"), ("z:2:1/rt:force/el:1", [160, 40], "RGBW"),
    ])
    func pixelsAreInTheirPlaces(options: String, size: [Int], quarters: String) async throws {
        let answer = try await self.fixture().get("/\(options)/plain/{}/a.png@png")
        #expect(answer.status == 200, "\(answer.text)")
        #expect(try answer.size == size)
        #expect(try answer.quarters == quarters)
    }

    /// The place of a crop is rounded once, to a pixel of the result: red ends at pixel 6 of the larger results and 3 of the smaller one.
    @Test(arguments: [("c:40:40:ce:-3/w:10", 6), ("c:40:40:nowe:17/w:10", 6), ("c:40:40:ce:-3/w:5", 3)])
    func cropsAreInTheirPlaceInSmallerResults(options: String, end: Int) async throws {
        let image = try await self.fixture().get("/\(options)/plain/{}/a.png@png").image
        #expect(ServiceAnswer.letter(of: try #require(image.color(atX: end - 1, y: 0))) == "R")
        #expect(ServiceAnswer.letter(of: try #require(image.color(atX: end, y: 0))) == "G")
    }

    @Test func longSidesAreScaledDown() async throws {
        let fixture = try await self.fixture { $0.limits.resultSide = 40 }
        let answer = try await fixture.get("/c:0.5:0:we/w:4000/pd:2/el:1/plain/{}/a.png@png")
        #expect(try answer.size == [40, 40] && answer.quarters == "RRBB")
        let any = try await self.fixture { $0.limits.resultSide = 0 }
        #expect(try await any.get("/rs:force:9000:10:1/plain/{}/a.png@png").size == [9000, 10])
    }

    @Test func weakSharpeningChangesPixels() async throws {
        let fixture = try await self.fixture()
        let soft = try await fixture.get("/bl:2/plain/{}/a.png@png").bytes
        #expect(try await fixture.get("/bl:2/sh:0.7/plain/{}/a.png@png").bytes != soft)
    }

    @Test func theBackgroundShowsWhereNothingIs() async throws {
        let fixture = try await self.fixture()
        let answer = try await fixture.get("/rs:fit:40:80:0:1:no/bg:0000ff/plain/{}/a.png@png")
        #expect(answer.status == 200)
        let image = try answer.image
        #expect(ServiceAnswer.letter(of: try #require(image.color(atX: 5, y: 5))) == "R")
        #expect(ServiceAnswer.letter(of: try #require(image.color(atX: 5, y: 70))) == "B")
        let clear = try await fixture.get("/rs:fit:40:80:0:1:no/plain/{}/a.png@png").image
        #expect(ServiceAnswer.letter(of: try #require(clear.color(atX: 5, y: 70))) == "-")
    }

    @Test func bordersAreTrimmed() async throws {
        let fixture = try await self.fixture()
        let framed = try ServiceFixture.picture(width: 40, height: 40)
            .processed(by: [.inset(top: -5, left: -10, bottom: -15, right: -20, color: .black)], cancellation: nil)
        try await fixture.origin.answer("/framed.png", body: CodecRegistry.shared.encode(framed, as: .png))
        for (options, size) in [
            ("t:10", [40, 40]), ("t:10:000", [40, 40]), ("t:10:fff", [70, 60]), ("t:10::1", [50, 40]),
            ("t:10:000:1:1", [50, 50]), ("t:10/w:20", [20, 20]), ("t:10/rot:90/c:10:20", [10, 20]),
        ] {
            let answer = try await fixture.get("/\(options)/plain/{}/framed.png@png")
            #expect(try answer.status == 200 && answer.size == size, "\(options)")
        }
    }

    /// As in imgproxy, transparent borders are trimmed as magenta.
    @Test func transparentBordersAreTrimmed() async throws {
        let fixture = try await self.fixture()
        let framed = try ServiceFixture.picture(width: 40, height: 40)
            .processed(by: [.inset(top: -5, left: -10, bottom: -15, right: -20, color: .clear)], cancellation: nil)
        try await fixture.origin.answer("/clear.png", body: CodecRegistry.shared.encode(framed, as: .png))
        for (options, size) in [("t:10:ff00ff", [40, 40]), ("t:10", [40, 40]), ("t:10:fff", [70, 60])] {
            #expect(try await fixture.get("/\(options)/plain/{}/clear.png@png").size == size, "\(options)")
        }
    }

    @Test func filesAreTurnedUprightUnlessToldOtherwise() async throws {
        let fixture = try await self.fixture()
        let jpeg = try CodecRegistry.shared.encode(ServiceFixture.picture(width: 80, height: 40), as: .jpeg)
        for orientation in 1...8 {
            let file = PhotographFile.file(jpeg, orientation: orientation, thumbnail: jpeg)
            try await fixture.origin.answer("/\(orientation).jpg", body: file)
            let stored = try await fixture.get("/ar:0/plain/{}/\(orientation).jpg@png")
            #expect(try stored.size == [80, 40] && stored.quarters == "RGBW", "\(orientation)")
            let upright = try await fixture.get("/w:20/plain/{}/\(orientation).jpg@png")
            #expect(try upright.size == (orientation < 5 ? [20, 10] : [20, 40]))
        }
    }

    @Test func theThumbnailInAFileIsUsedIfAsked() async throws {
        let fixture = try await self.fixture()
        let large = try CodecRegistry.shared.encode(ServiceFixture.picture(width: 800, height: 400), as: .jpeg)
        let small = try CodecRegistry.shared.encode(
            ServiceFixture.picture(width: 80, height: 40).processed(by: [.inverted()], cancellation: nil),
            as: .jpeg)
        try await fixture.origin.answer("/camera.jpg", body: PhotographFile.file(large, thumbnail: small))
        #expect(try await fixture.get("/w:40/plain/{}/camera.jpg@png").quarters == "RGBW")
        let answer = try await fixture.get("/eth:1/w:40/plain/{}/camera.jpg@png")
        #expect(try answer.size == [40, 20] && answer.quarters.hasSuffix("K"))
    }

    @Test func watermarksAreDrawnOverTheResult() async throws {
        let mark = try Image(color: .black, size: PointSize(width: 8, height: 8))
        let fixture = try await self.fixture { configuration in
            configuration.watermark = try? CodecRegistry.shared.encode(mark, as: .png)
        }
        func letters(_ option: String, _ points: [(Int, Int)]) async throws -> String {
            let answer = try await fixture.get("/\(option)/plain/{}/a.png@png")
            let image = try answer.image
            return points.map { ServiceAnswer.letter(of: image.color(atX: $0.0, y: $0.1) ?? .clear) }.joined()
        }
        #expect(try await letters("wm:1:nowe", [(1, 1), (10, 1), (78, 38)]) == "KRW")
        #expect(try await letters("wm:1:soea:2:2", [(77, 37), (79, 39), (68, 38)]) == "KWW")
        #expect(try await letters("wm:1:ce:0:0:1", [(40, 2), (40, 38), (2, 2)]) == "KKR")
        // A tile is in the center, with the gap around it.
        let tile = [(36, 16), (43, 23), (35, 20), (44, 20), (40, 15), (40, 24), (52, 20), (20, 20)]
        #expect(try await letters("wm:1:re:8:8", tile) == "KKBWGWKK")
        // Gaps are shares of the result below 1, and have its density; tiles have not.
        #expect(try await letters("wm:1:re:0.1:0.2", tile) == "KKBWGWKK")
        #expect(try await letters("w:40/dpr:2/wm:1:re:4:4", tile) == "KKBWGWKK")
        // Tiles reach all sides. With wide gaps, there is one.
        #expect(try await letters("wm:1:re", [(0, 0), (79, 0), (0, 39), (79, 39)]) == "KKKK")
        #expect(try await letters("wm:1:re:72:32", [(36, 16), (43, 23), (39, 8), (39, 15)]) == "KKRR")
        #expect(try await letters("wm:0", [(40, 20)]) != "K")
        // The service's opacity is multiplied.
        let light = try await self.fixture { configuration in
            configuration.watermark = try? CodecRegistry.shared.encode(mark, as: .png)
            configuration.watermarkOpacity = 0.5
        }
        for (opacity, red) in [("1", 0.5), ("0.5", 0.75)] {
            let image = try await light.get("/wm:\(opacity):nowe/plain/{}/a.png@png").image
            let color = try #require(image.color(atX: 1, y: 1))
            #expect(abs(color.red - red) < 0.02 && color.green == 0, "\(color)")
        }
        let none = try await self.fixture().get("/wm:1/plain/{}/a.png")
        #expect(none.status == 422)
    }

    @Test func metadataIsStrippedUnlessKept() async throws {
        let fixture = try await self.fixture()
        let notice = Data(
            "MM\0*".utf8.map { $0 } + [0, 0, 0, 8, 0, 2] + [0x01, 0x0F, 0, 2, 0, 0, 0, 4] + Array("Cam\0".utf8)
                + [0x82, 0x98, 0, 2, 0, 0, 0, 6, 0, 0, 0, 38, 0, 0, 0, 0] + Array("Alice\0".utf8))
        let options = { (options: inout EncodingOptions) in options.metadata = ImageMetadata(exif: notice) }
        var encoding = EncodingOptions()
        options(&encoding)
        let file = try CodecRegistry.shared.encode(
            ServiceFixture.picture(width: 8, height: 8), as: .jpeg, options: encoding)
        try await fixture.origin.answer("/m.jpg", body: file)
        func texts(_ options: String) async throws -> [Bool] {
            let body = try await fixture.get("/\(options)/plain/{}/m.jpg@jpg").bytes
            return ["Cam", "Alice"].map { body.firstRange(of: Data($0.utf8)) != nil }
        }
        #expect(try await texts("sm:1") == [false, false])
        #expect(try await texts("sm:0") == [true, true])
        #expect(try await texts("kcr:1") == [false, true])
        let profile = try await fixture.get("/scp:0/plain/{}/m.jpg@jpg").bytes
        #expect(profile.firstRange(of: Data("ICC_PROFILE".utf8)) != nil)
    }

    @Test func qualityAndByteLimitChangeTheLength() async throws {
        let fixture = try await self.fixture()
        let noise = try PhotographNoise.jpeg(side: 64)
        try await fixture.origin.answer("/noise.jpg", body: noise)
        func count(_ options: String) async throws -> Int {
            try await fixture.get("/\(options)/plain/{}/noise.jpg@jpg").body.count
        }
        let (low, high) = (try await count("q:20"), try await count("q:95"))
        #expect(low * 2 < high)
        #expect(try await count("fq:jpg:20") == low)
        // As in imgproxy: the quality of a format counts where there is no other one, and 0 is none.
        #expect(try await count("q:20/fq:jpg:95") == low)
        #expect(try await count("q:0/fq:jpg:20") == low)
        #expect(try await count("fq:jpg:0") == count("q:80"))
        #expect(try await count("q:95/mb:\(low * 2)") <= low * 2)
    }
}

/// A file whose length depends on its quality.
enum PhotographNoise {
    static func jpeg(side: Int) throws -> Data {
        var random = SplitMix64(seed: 1)
        var pixels = try MutablePixelBuffer(width: side, height: side)
        let stride = pixels.bytesPerRow
        pixels.withUnsafeMutableBytes { bytes in
            for y in 0..<side {
                for x in 0..<side * 4 {
                    bytes[y * stride + x] = x % 4 == 3 ? 255 : UInt8.random(in: 0...255, using: &random)
                }
            }
        }
        return try CodecRegistry.shared.encode(
            Image(pixels: pixels.freeze(isOpaque: true)), as: .jpeg, options: EncodingOptions(quality: 0.95))
    }
}
