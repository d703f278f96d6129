import Testing
import WebImageCore
import WebImageProcessing

@Suite struct SolidColorTests {
    @Test func isOneColorPremultiplied() throws {
        let image = try Image(
            color: Color(red: 1, green: 0.5, blue: 0, alpha: 0.5), size: PointSize(width: 3, height: 2), scale: 2)
        #expect(image.pixels.size == PixelSize(width: 6, height: 4))
        #expect(image.size == PointSize(width: 3, height: 2))
        #expect(image.pixels.bytes == (0..<24).flatMap { _ in [128, 64, 0, 128] as [UInt8] })
        #expect(try Image(color: .white).pixels.bytes == [255, 255, 255, 255])
    }

    @Test func knowsWhetherItIsTranslucent() throws {
        #expect(try !Image(color: .white).hasAlpha)
        #expect(try Image(color: .clear).hasAlpha)
        // Not known to be opaque, but looked at.
        let bytes = [UInt8](repeating: 255, count: 7 * 3 * 4)
        let size = PixelSize(width: 7, height: 3)
        let opaque = Image(pixels: try GeometryFixture.buffer(size, bytes))
        #expect(opaque.hasAlpha)
        #expect(!opaque.hasTranslucentPixels)
        for alpha in [3, 27, 83] {
            var other = bytes
            other[alpha] = 254
            #expect(Image(pixels: try GeometryFixture.buffer(size, other)).hasTranslucentPixels)
        }
        let colored = try Image(color: .white)
        #expect(!colored.hasTranslucentPixels)
    }

    @Test(arguments: [0, -1, .nan, .infinity] as [Double])
    func refusesWhatMakesNoSense(value: Double) {
        #expect(throws: WebImageError.self) { try Image(color: .white, size: PointSize(width: value, height: 1)) }
        #expect(throws: WebImageError.self) { try Image(color: .white, size: PointSize(width: 1, height: value)) }
        #expect(throws: WebImageError.self) { try Image(color: .white, scale: value) }
        if !value.isFinite {
            #expect(throws: WebImageError.self) { try Image(color: Color(red: 0, green: 0, blue: 0, alpha: value)) }
        }
    }
}
