import Testing
import WebImageCore
import WebImageProcessing

@Suite struct BlurEffectTests {
    private let gray = EffectPixels(width: 30, height: 20, pixel: [100, 100, 100, 255])

    @Test(arguments: [
        (BlurEffect.soft, 141), (.light, 147), (.extraLight, 221), (.dark, 47), (.tinted(.white), 193),
    ]) func laysItsColorOver(effect: BlurEffect, expected: Int) throws {
        let result = EffectPixels(try gray.image().blurred(effect))
        #expect(result[7, 7][3] == 255)
        #expect(result[7, 7].prefix(3).allSatisfy { abs(Int($0) - expected) <= 1 }, "\(result[7, 7])")
    }

    @Test func saturatesWhatIsBlurred() throws {
        let reddish = try EffectPixels(width: 9, height: 9, pixel: [120, 100, 100, 255]).image()
        let result = EffectPixels(try reddish.blurred(BlurEffect(radius: 3, saturation: 2)))
        let expected = EffectPixels(try reddish.adjusted(saturation: 2))
        #expect(result == expected)
    }

    @Test func theTintHasAMode() throws {
        let effect = BlurEffect(radius: 3, tint: Color(red: 1, green: 0, blue: 0), tintMode: .multiply)
        #expect(EffectPixels(try gray.image().blurred(effect))[3, 3] == [100, 0, 0, 255])
    }

    @Test func theMaskShowsThePictureAsItIs() throws {
        let picture = EffectPixels(noise: 64, 20, seed: 1)
        let halves = EffectPixels(
            width: 64, height: 20,
            bytes: (0..<20).flatMap { _ in
                (0..<64).flatMap { x -> [UInt8] in x < 32 ? [255, 255, 255, 255] : [0, 0, 0, 255] }
            })
        let effect = BlurEffect(radius: 8, saturation: 1.5, tint: Color(red: 0, green: 1, blue: 0, alpha: 0.5))
        let result = EffectPixels(try picture.image().blurred(effect, mask: halves.image()))
        let blurred = EffectPixels(try picture.image().blurred(effect))
        for y in 0..<20 {
            for x in 0..<64 { #expect(result[x, y] == (x < 32 ? blurred : picture)[x, y]) }
        }
        let opaqueMask = try picture.image().blurred(effect, mask: halves.image(), maskChannel: .alpha)
        #expect(EffectPixels(opaqueMask) == blurred)
    }

    @Test func halfAMaskIsHalfOfEach() throws {
        let half = EffectPixels(width: 1, height: 1, pixel: [0, 0, 0, 128])
        let effect = BlurEffect(radius: 2, tint: .white)
        let result = try gray.image().blurred(effect, mask: half.image(), maskChannel: .alpha)
        #expect(EffectPixels(result)[4, 4] == [178, 178, 178, 255])
    }

    @Test func refusesNumbersThatAreNone() throws {
        let image = try gray.image()
        #expect(throws: WebImageError.self) { try image.blurred(BlurEffect(radius: 1, saturation: .nan)) }
        #expect(throws: WebImageError.self) {
            try image.blurred(BlurEffect(radius: 1, tint: Color(red: .nan, green: 0, blue: 0)))
        }
    }

    @Test func isKnownByEverythingItDependsOn() throws {
        let (mask, other) = (try gray.image(), try EffectPixels(noise: 30, 20, seed: 2).image())
        let effect = BlurEffect(radius: 3)
        let processors: [ImageProcessors.Blur] = [
            .blur(effect), .blur(.soft), .blur(.light), .blur(.extraLight), .blur(.dark), .blur(.tinted(.white)),
            .blur(BlurEffect(radius: 3, saturation: 2)), .blur(BlurEffect(radius: 3, tint: .white)),
            .blur(BlurEffect(radius: 3, tint: .white, tintMode: .multiply)), .blur(effect, mask: mask),
            .blur(effect, mask: other), .blur(effect, mask: mask, maskChannel: .alpha),
            .blur(effect, mask: mask, maskID: "m"),
        ]
        #expect(Set(processors.map(\.identifier)).count == processors.count)
        // The mode of a tint that is not there makes no difference.
        #expect(
            ImageProcessors.Blur(BlurEffect(radius: 3, tintMode: .color)).identifier == processors[0].identifier)
    }
}
