import Testing
import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct ResizeModeTests {
    private let photo = PixelSize(width: 4000, height: 3000)

    @Test(arguments: [
        (ResizeMode.aspectFit, PixelSize(width: 400, height: 400), PixelSize(width: 400, height: 300)),
        (.aspectFill, PixelSize(width: 400, height: 400), PixelSize(width: 533, height: 400)),
        (.stretch, PixelSize(width: 400, height: 400), PixelSize(width: 400, height: 400)),
        (.aspectFit, PixelSize(width: 0, height: 300), PixelSize(width: 400, height: 300)),
        (.aspectFill, PixelSize(width: 400, height: 0), PixelSize(width: 400, height: 300)),
        (.stretch, PixelSize(width: 400, height: 0), PixelSize(width: 400, height: 300)),
        (.aspectFit, PixelSize(width: 0, height: 0), PixelSize(width: 4000, height: 3000)),
        (.aspectFit, PixelSize(width: 1, height: 1), PixelSize(width: 1, height: 1)),
    ])
    func computesTheSizeOfEachMode(mode: ResizeMode, box: PixelSize, expected: PixelSize) {
        #expect(mode.size(of: photo, in: box) == expected)
    }

    @Test func neverReturnsASideOfZero() {
        let line = PixelSize(width: 10_000, height: 1)
        #expect(
            ResizeMode.aspectFit.size(of: line, in: PixelSize(width: 10, height: 10)) == PixelSize(width: 10, height: 1)
        )
    }

    @Test(arguments: ResizeMode.allCases)
    func enlargesOnlyWhenAllowed(_ mode: ResizeMode) {
        let box = PixelSize(width: 8000, height: 6000)
        #expect(mode.size(of: photo, in: box) == photo)
        #expect(mode.size(of: photo, in: box, allowsUpscaling: true) == box)
    }

    @Test func stretchLimitsEachSideSeparately() {
        let box = PixelSize(width: 8000, height: 30)
        #expect(ResizeMode.stretch.size(of: photo, in: box) == PixelSize(width: 4000, height: 30))
    }

    @Test func clampsSidesThatOverflow() {
        let stretched = ResizeMode.stretch.size(
            of: PixelSize(width: 100, height: 100), in: PixelSize(width: .max, height: 10), allowsUpscaling: true)
        #expect(stretched == PixelSize(width: .max, height: 10))
        let line = PixelSize(width: 1, height: 65_535)
        let filled = ResizeMode.aspectFill.size(
            of: line, in: PixelSize(width: 1 << 50, height: 0), allowsUpscaling: true)
        #expect(filled == PixelSize(width: 1 << 50, height: .max))
    }
}
