import Testing
import WebImageCore
import WebImageProcessing

@Suite struct TintTests {
    private let orange = Color(red: 1, green: 0.6, blue: 0.2)

    @Test func leavesTheShapeInTheColor() throws {
        let ramp = EffectPixels(width: 256, height: 1, bytes: (0..<256).flatMap { [0, 0, 0, UInt8($0)] })
        let result = EffectPixels(try ramp.image().tinted(orange))
        for alpha in 0..<256 {
            let expected = [1, 0.6, 0.2, 1].map { Int(($0 * Double(alpha)).rounded()) }
            #expect(zip(result[alpha, 0], expected).allSatisfy { abs(Int($0) - $1) <= 1 })
            #expect(Int(result[alpha, 0][3]) == alpha)
        }
    }

    @Test func laysAColorOverAPictureInOtherModes() throws {
        let gray = try EffectPixels(width: 5, height: 5, pixel: [128, 128, 128, 255]).image()
        #expect(EffectPixels(try gray.tinted(orange, mode: .multiply))[2, 2] == [128, 77, 26, 255])
        let half = Color(red: 1, green: 1, blue: 1, alpha: 0.5)
        #expect(EffectPixels(try gray.tinted(half, mode: .sourceOver))[2, 2] == [192, 192, 192, 255])
    }

    @Test(arguments: [Double.infinity, -.infinity, .nan]) func refusesAColorThatIsNone(component: Double) throws {
        let image = try EffectPixels(width: 1, height: 1, pixel: [0, 0, 0, 255]).image()
        #expect(throws: WebImageError.self) { try image.tinted(Color(red: 0, green: component, blue: 0)) }
        #expect(throws: WebImageError.self) { try image.tinted(Color(red: 0, green: 0, blue: 0, alpha: component)) }
    }

    @Test func cutsComponentsBeyondTheRange() throws {
        let gray = try EffectPixels(width: 2, height: 2, pixel: [128, 128, 128, 255]).image()
        let color = Color(red: 7, green: -3, blue: 0.2, alpha: 2)
        #expect(EffectPixels(try gray.tinted(color))[0, 0] == [255, 0, 51, 255])
    }

    @Test func isKnownByColorAndMode() {
        let processors: [ImageProcessors.Tint] = [
            .tint(orange), .tint(.black), .tint(.clear), .tint(orange, mode: .color),
        ]
        #expect(Set(processors.map(\.identifier)).count == processors.count)
    }
}
