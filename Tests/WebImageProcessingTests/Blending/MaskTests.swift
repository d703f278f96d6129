import Testing
import WebImageCore
import WebImageProcessing

@Suite struct MaskTests {
    private let picture = EffectPixels(noise: 33, 21, seed: 1)

    @Test func letsThroughWhatIsWhiteOrOpaque() throws {
        let white = try EffectPixels(width: 1, height: 1, pixel: [255, 255, 255, 255]).image()
        let black = try EffectPixels(width: 1, height: 1, pixel: [0, 0, 0, 255]).image()
        let image = try picture.image()
        #expect(EffectPixels(try image.masked(by: white)) == picture)
        #expect(EffectPixels(try image.masked(by: black, channel: .alpha)) == picture)
        #expect(EffectPixels(try image.masked(by: black)).bytes.allSatisfy { $0 == 0 })
    }

    @Test(arguments: MaskChannel.allCases) func multipliesByTheMask(channel: MaskChannel) throws {
        let mask = EffectPixels(noise: 33, 21, seed: 2)
        let result = EffectPixels(try picture.image().masked(by: mask.image(), channel: channel))
        for index in stride(from: 0, to: mask.bytes.count, by: 4) {
            let (red, green, blue) = (mask.bytes[index], mask.bytes[index + 1], mask.bytes[index + 2])
            let luma = 0.2126 * Double(red) + 0.7152 * Double(green) + 0.0722 * Double(blue)
            let share = (channel == .alpha ? Double(mask.bytes[index + 3]) : luma) / 255
            for byte in index..<index + 4 {
                #expect(abs(Double(result.bytes[byte]) - Double(picture.bytes[byte]) * share) <= 1.6)
            }
        }
    }

    @Test func stretchesTheMask() throws {
        let halves = EffectPixels(width: 2, height: 1, bytes: [255, 255, 255, 255, 0, 0, 0, 255])
        let white = EffectPixels(width: 100, height: 10, pixel: [255, 255, 255, 255])
        let result = EffectPixels(try white.image().masked(by: halves.image()))
        #expect(result[5, 5] == [255, 255, 255, 255])
        #expect(result[95, 5] == [0, 0, 0, 0])
    }

    @Test func isKnownByItsMask() throws {
        let (one, other) = (try picture.image(), try EffectPixels(noise: 33, 21, seed: 3).image())
        let processors: [ImageProcessors.ImageMask] = [.mask(one), .mask(other), .mask(one, channel: .alpha)]
        #expect(Set(processors.map(\.identifier)).count == processors.count)
    }
}
