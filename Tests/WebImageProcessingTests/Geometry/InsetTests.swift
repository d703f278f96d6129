import Testing
import WebImageCore
import WebImageProcessing

@Suite struct InsetTests {
    @Test func cutsPixelsOff() throws {
        let result = try numbered(20, 10).inset(by: PointInsets(top: 1, left: 2, bottom: 3, right: 4)).pixels
        #expect(result.size == PixelSize(width: 14, height: 6))
        #expect(result[0, 0] == SIMD4(2, 1, 7, 255))
        #expect(result[13, 5] == SIMD4(15, 6, 7, 255))
    }

    @Test func addsPixelsOfAColorAround() throws {
        let source = try GeometryFixture.source(scale: 2)
        let result = try source.inset(by: PointInsets(top: -1, left: -2, bottom: 0, right: -0.5), color: .white)
        #expect(result.pixels.size == PixelSize(width: 48 + 5, height: 36 + 2))
        for y in 0..<38 {
            for x in 0..<53 {
                // The colour is around the picture, not behind it.
                let isInside = (4..<52).contains(x) && y >= 2
                let expected = isInside ? source.pixels[x - 4, y - 2] : SIMD4(255, 255, 255, 255)
                #expect(result.pixels[x, y] == expected)
            }
        }
        #expect(!result.pixels.isOpaque)
    }

    @Test func addsAtOneSideAndCutsAtAnother() throws {
        let result = try numbered(20, 10).inset(by: PointInsets(left: 5, right: -5)).pixels
        #expect(result.size == PixelSize(width: 20, height: 10))
        #expect(result[0, 0] == SIMD4(5, 0, 7, 255))
        #expect(result[15, 0] == SIMD4(0, 0, 0, 0))
        #expect(!result.isOpaque)
        #expect(try numbered(20, 10).inset(by: PointInsets(-1), color: .black).pixels.isOpaque)
    }

    @Test func refusesToLeaveNothing() throws {
        let source = try numbered(20, 10)
        for insets in [
            PointInsets(5), PointInsets(left: 20), PointInsets(left: 25, right: -10), PointInsets(top: 1e300),
        ] {
            let processor = ImageProcessors.Inset(by: insets)
            #expect(
                throws: WebImageError.processing(identifier: processor.identifier.description, reason: .emptyResult)
            ) { try processor.process(source, cancellation: nil) }
        }
        for value in [Double.nan, .infinity, -.infinity] {
            #expect(throws: WebImageError.self) { try source.inset(by: PointInsets(bottom: value)) }
            #expect(throws: WebImageError.self) {
                try source.inset(by: PointInsets(-1), color: Color(red: value, green: 0, blue: 0))
            }
        }
        #expect(throws: WebImageError.self) { try source.inset(by: PointInsets(-1e300)) }
    }
}
