import Testing
import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct ThumbnailTests {
    @Test(arguments: [
        (2.0, PixelSize(width: 201, height: 100)), (1.0, PixelSize(width: 101, height: 50)),
        (0, PixelSize(width: 101, height: 50)), (-2, PixelSize(width: 101, height: 50)),
        (.nan, PixelSize(width: 101, height: 50)), (.infinity, PixelSize(width: 101, height: 50)),
    ])
    func multipliesPointsByAValidScale(scale: Double, size: PixelSize) {
        #expect(Thumbnail(.points(width: 100.5, height: 50), scale: scale).size == size)
    }

    @Test(arguments: [
        (Double.infinity, 65_535), (1e19, 65_535), (-.infinity, 0), (-5, 0), (.nan, 0), (0, 0),
    ])
    func clampsLengthsInPoints(length: Double, pixels: Int) {
        #expect(Thumbnail(.points(width: length, height: 10), scale: 2).size == PixelSize(width: pixels, height: 20))
    }

    @Test func clampsLengthsInPixels() {
        #expect(Thumbnail(.pixels(width: -10, height: .max)).size == PixelSize(width: 0, height: 65_535))
        #expect(Thumbnail(.pixels(width: .min)).size == PixelSize(width: 0, height: 0))
    }
}
