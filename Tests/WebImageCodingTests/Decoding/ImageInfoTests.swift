import Foundation
import Testing
import WebImageCoding
import WebImageCore

/// What files say without being decoded.
@Suite struct ImageInfoTests {
    private let registry = CodecRegistry()

    private func info(of name: String) throws -> ImageInfo { try registry.info(of: Fixture(name).data()) }

    @Test func agreesWithThePixels() throws {
        let fixtures = ["jpg", "png", "gif", "webp"].flatMap(Fixture.all)
        for fixture in fixtures {
            let reference = try fixture.reference()
            let info = try registry.info(of: fixture.data())
            #expect(info.size == reference.size, "\(fixture.name)")
            let isTransparent = stride(from: 3, to: reference.bytes.count, by: 4).contains { reference.bytes[$0] < 255 }
            if isTransparent { #expect(info.hasAlpha, "\(fixture.name)") }
        }
    }

    @Test(arguments: ImageOrientation.allCases)
    func givesTheUprightSizeOfEveryOrientation(_ orientation: ImageOrientation) throws {
        let info = try info(of: "orientation-\(orientation.rawValue).jpg")
        #expect(info.orientation == orientation)
        #expect(info.size == orientation.upright(PixelSize(width: 24, height: 16)))
    }

    @Test(arguments: ["orientation-6.png", "orientation-6.webp"])
    func readsEXIFOfOtherFormats(_ name: String) throws {
        #expect(try info(of: name).orientation == .right)
    }

    @Test(arguments: ["profile.jpg", "profile.png", "orientation-6.webp"])
    func seesColorProfiles(_ name: String) throws {
        #expect(try info(of: name).hasColorProfile)
    }

    @Test(arguments: ["baseline-444.jpg", "rgb-8.png", "87a.gif", "lossless.webp"])
    func reportsPlainStills(_ name: String) throws {
        let info = try info(of: name)
        #expect(info.frameCount == 1)
        #expect(info.loopCount == nil)
        #expect(info.frameDurations == [])
        #expect(!info.hasColorProfile)
        #expect(!info.hasAlpha)
    }

    @Test func countsTheFramesOfAGIF() throws {
        let info = try info(of: "animated.gif")
        #expect(info.frameCount == 3)
        #expect(info.frameDurations == [0.07, 0.1, 0.5])
        // Two repetitions after the first play.
        #expect(info.loopCount == 3)
    }

    @Test func countsTheFramesOfAnAPNG() throws {
        let info = try info(of: "animated.png")
        #expect(info.frameCount == 3)
        // The second counts hundredths; the third asks for none.
        #expect(info.frameDurations == [0.25, 0.05, 0.1])
        #expect(info.loopCount == 2)
    }

    @Test func countsTheFramesOfAWebP() throws {
        let info = try info(of: "animated.webp")
        #expect(info.frameCount == 3)
        #expect(info.frameDurations == [0.08, 0.1, 0.2])
        #expect(info.loopCount == 3)
    }

    @Test(arguments: ["animated.gif", "animated.png", "animated.webp"])
    func tellsTheFrameCountOfADecodedPicture(_ name: String) throws {
        #expect(try registry.decode(Fixture(name).data()).frameCount == 3)
    }

    @Test(arguments: ["progressive-420.jpg", "animated.png", "animated.gif", "lossy-alpha.webp"])
    func readsTheSizeOfDataThatIsStillArriving(_ name: String) throws {
        let data = try Fixture(name).data()
        let size = try registry.info(of: data).size
        #expect(try registry.info(of: data.prefix(data.count * 3 / 4)).size == size)
    }
}
