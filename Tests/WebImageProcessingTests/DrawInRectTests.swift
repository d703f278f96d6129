import Testing
import WebImageCore

@testable import WebImageProcessing

@Suite(.timeLimit(.minutes(3))) struct DrawInRectTests {
    private static let canvas = PointSize(width: 24, height: 18)

    /// A flat image shows the position to a fraction of a pixel.
    @Test(arguments: ImageContentMode.allCases, [false, true])
    func isPlacedAsInCairo(mode: ImageContentMode, clips: Bool) throws {
        let input = try Image(
            color: Color(red: 1, green: 0.2, blue: 0, alpha: 0.8), size: PointSize(width: 7, height: 5))
        let result = try input.drawn(
            in: PointRect(x: 3.3, y: 2.75, width: 15.4, height: 9.5), canvas: Self.canvas, contentMode: mode,
            clips: clips, background: Color(red: 0, green: 0.4, blue: 0, alpha: 0.5))
        let reference = try GeometryFixture.pixels("draw-\(mode)\(clips ? "-clipped" : "")")
        let difference = try #require(result.pixels.difference(from: reference))
        #expect(difference <= 1)
    }

    /// Without scaling and subpixel offsets, pixels are unchanged.
    @Test(arguments: ImageContentMode.allCases.filter { !"\($0)".hasPrefix("scale") })
    func matchesCairosPixels(mode: ImageContentMode) throws {
        let result = try GeometryFixture.source().drawn(
            in: PointRect(x: 4, y: 3, width: 14, height: 12), canvas: Self.canvas, contentMode: mode, clips: true,
            background: Color(red: 0.2, green: 0.4, blue: 0.6))
        let difference = try #require(
            result.pixels.difference(from: GeometryFixture.pixels("picture-\(mode)")))
        #expect(difference <= 1)
        #expect(result.pixels.isOpaque)
    }

    @Test func scalesLikeResizing() throws {
        let source = try GeometryFixture.source()
        let rect = PointRect(x: 2, y: 1, width: 20, height: 15)
        let drawn = try source.drawn(in: rect, canvas: Self.canvas)
        let resized = try source.resized(to: .points(rect.size), mode: .stretch).pixels
        for y in 0..<15 { for x in 0..<20 { #expect(drawn.pixels[x + 2, y + 1] == resized[x, y]) } }
        #expect(drawn.pixels[1, 1] == SIMD4(0, 0, 0, 0))
        // The visible part is the same.
        let moved = try source.drawn(in: PointRect(x: -5, y: -4, width: 20, height: 15), canvas: Self.canvas).pixels
        for y in 0..<11 { for x in 0..<15 { #expect(moved[x, y] == resized[x + 5, y + 4]) } }
    }

    @Test func multipliesPointsByTheScaleOfTheCanvas() throws {
        let source = try numbered(6, 4, scale: 2)
        let result = try source.drawn(
            in: PointRect(x: 1, y: 1, width: 4, height: 4), canvas: PointSize(width: 6, height: 6),
            contentMode: .topLeft)
        #expect(result.pixels.size == PixelSize(width: 12, height: 12))
        #expect(result.pixels[2, 2] == source.pixels[0, 0])
        #expect(result.pixels[7, 5] == source.pixels[5, 3])
        #expect(result.pixels[8, 5] == SIMD4(0, 0, 0, 0))
    }

    @Test func rejectsEmptyResults() throws {
        let source = try flat(5, 5)
        for (x, y) in [(24.0, 0.0), (0, 18), (-5, 0), (0, -5), (1e300, 0)] {
            let processor = ImageProcessor.draw(
                in: PointRect(x: x, y: y, width: 5, height: 5), canvas: Self.canvas)
            #expect(
                throws: WebImageError.processing(identifier: processor.identifier.description, reason: .emptyResult)
            ) { try processor.process(source, cancellation: nil) }
        }
        for value in [0, -4, Double.nan, .infinity] {
            #expect(throws: WebImageError.self) {
                try source.drawn(in: PointRect(x: 0, y: 0, width: value, height: 5), canvas: Self.canvas)
            }
            #expect(throws: WebImageError.self) {
                try source.drawn(
                    in: PointRect(x: 0, y: 0, width: 5, height: 5), canvas: PointSize(width: 5, height: value))
            }
        }
    }

    /// All numbers give an image or an error.
    @Test func supportsNumbersOfAnySize() throws {
        let largest = Double.greatestFiniteMagnitude
        let values = [-largest, -1e9, -0.0, 0.25, 5e-9, 1e9, largest]
        for (index, x) in values.enumerated() {
            for mode in ImageContentMode.allCases {
                let rect = PointRect(x: x, y: 0, width: values[6 - index], height: values[(index + 5) % 7])
                for scale in [0.001, 1, 1e300] {
                    do {
                        let result = try flat(5, 4, scale: scale).drawn(
                            in: rect, canvas: PointSize(width: 30 / scale, height: 20 / scale), contentMode: mode,
                            clips: index % 2 == 0)
                        #expect(result.pixels.isPremultiplied)
                    } catch WebImageError.processing {}
                }
            }
        }
        for scale in [0, -1, Double.nan, .infinity] {
            #expect(throws: WebImageError.self) {
                try flat(5, 4, scale: scale).drawn(in: PointRect(x: 0, y: 0, width: 1, height: 1), canvas: Self.canvas)
            }
        }
    }

    @Test func supportsSinglePixelsAndVeryLongImages() throws {
        for image in [try flat(1, 1), try flat(30_000, 1), try flat(1, 30_000)] {
            for mode in ImageContentMode.allCases {
                let result = try image.drawn(
                    in: PointRect(x: 0.5, y: 0.5, width: 20, height: 10), canvas: Self.canvas, contentMode: mode)
                #expect(result.pixels.size == PixelSize(width: 24, height: 18))
                #expect(result.pixels.isPremultiplied)
            }
        }
    }
}
