import Testing
import WebImageCore
import WebImageProcessing

@Suite struct CropTests {
    private func rect(_ x: Double, _ y: Double, _ width: Double, _ height: Double) -> PointRect {
        PointRect(x: x, y: y, width: width, height: height)
    }

    @Test func takesThePixelsOfTheRectangle() throws {
        let source = try numbered(40, 30)
        let result = try source.cropped(to: rect(5, 6, 10, 8)).pixels
        #expect(result.size == PixelSize(width: 10, height: 8))
        #expect(result[0, 0] == SIMD4(5, 6, 7, 255))
        #expect(result[9, 7] == SIMD4(14, 13, 7, 255))
        let inPixels = try source.cropped(toPixels: PixelRect(x: 5, y: 6, width: 10, height: 8)).pixels
        #expect(inPixels.bytes == result.bytes)
    }

    @Test func multipliesPointsByTheScaleAndRoundsToPixels() throws {
        let source = try numbered(40, 30, scale: 2)
        let result = try source.cropped(to: rect(2.6, 3, 5, 4))
        #expect(result.pixels.size == PixelSize(width: 10, height: 8))
        #expect(result.pixels[0, 0] == SIMD4(5, 6, 7, 255))
        #expect(try source.cropped(to: rect(2, 3, 0.1, 0.1)).pixels.size == PixelSize(width: 1, height: 1))
    }

    @Test func cutsRectanglesThatStickOut() throws {
        let source = try numbered(40, 30)
        let result = try source.cropped(to: rect(-5, 25, 1e9, 1e300)).pixels
        #expect(result.size == PixelSize(width: 40, height: 5))
        #expect(result[0, 0] == SIMD4(0, 25, 7, 255))
    }

    @Test(arguments: [(40, 0), (0, 30), (-10, 0), (0, -10), (1e300, 0)] as [(Double, Double)])
    func refusesRectanglesOutside(x: Double, y: Double) throws {
        let processor = ImageProcessors.Crop(to: rect(x, y, 10, 10))
        #expect(
            throws: WebImageError.processing(identifier: processor.identifier.description, reason: .emptyResult)
        ) { try processor.process(numbered(40, 30), cancellation: nil) }
    }

    @Test(arguments: [0, -3, .nan, .infinity] as [Double])
    func refusesRectanglesThatMakeNoSense(side: Double) throws {
        let source = try numbered(4, 4)
        #expect(throws: WebImageError.self) { try source.cropped(to: rect(0, 0, side, 2)) }
        #expect(throws: WebImageError.self) { try source.cropped(to: rect(0, 0, 2, side)) }
        if side.isFinite {
            #expect(throws: WebImageError.self) {
                try source.cropped(toPixels: PixelRect(x: 0, y: 0, width: Int(side), height: 2))
            }
        } else {
            #expect(throws: WebImageError.self) { try source.cropped(to: rect(side, 0, 2, 2)) }
        }
    }

    @Test func countsTheMemoryThatIsKept() throws {
        let source = try numbered(400, 300)
        #expect(try source.cropped(to: rect(0, 0, 400, 200)).memoryCost == source.memoryCost)
        #expect(try source.cropped(to: rect(0, 0, 40, 20)).memoryCost == 40 * 20 * 4)
    }

    /// Everything takes a picture whose rows have gaps.
    @Test func givesPicturesThatProcessAsCopiesDo() throws {
        let source = try GeometryFixture.source()
        let part = try source.cropped(to: rect(3, 2, 41, 31))
        let copy = Image(pixels: try GeometryFixture.buffer(part.pixels.size, part.pixels.bytes))
        #expect(part.pixels.bytesPerRow == 48 * 4)
        #expect(copy.pixels.bytesPerRow == 41 * 4)
        let size = PointSize(width: 17, height: 14)
        let processors: [any ImageProcessor] = [
            .resize(to: size), .resize(to: size, filter: .fast), .resize(to: size, mode: .letterbox(.white)),
            .rotate(clockwise: .degrees(90)), .rotate(clockwise: .degrees(33)), .flip(.horizontal), .flip(.vertical),
            .roundedCorners(radius: 5, border: Border(width: 2, color: .black)), .circle(),
            .inset(by: PointInsets(-3), color: .white), .inset(by: PointInsets(2)),
            .draw(in: rect(1.5, 1.5, 20, 20), canvas: size), .crop(to: rect(1, 1, 39, 29)),
        ]
        for processor in processors {
            let (one, other) = (try part.processed(by: [processor]), try copy.processed(by: [processor]))
            #expect(one.pixels.difference(from: other.pixels) == 0, "\(processor.identifier)")
        }
        #expect(part.hasTranslucentPixels)
    }
}
