import Testing
@testable import WebImageCore

@testable import WebImageProcessing

@Suite(.timeLimit(.minutes(3))) struct CropTests {
    private func rect(_ x: Double, _ y: Double, _ width: Double, _ height: Double) -> PointRect {
        PointRect(x: x, y: y, width: width, height: height)
    }

    @Test func cropsToTheRectangle() throws {
        let source = try numbered(40, 30)
        let result = try source.cropped(toPoints: rect(5, 6, 10, 8)).pixels
        #expect(result.size == PixelSize(width: 10, height: 8))
        #expect(result[0, 0] == SIMD4(5, 6, 7, 255))
        #expect(result[9, 7] == SIMD4(14, 13, 7, 255))
        let inPixels = try source.cropped(toPixels: PixelRect(x: 5, y: 6, width: 10, height: 8)).pixels
        #expect(inPixels.bytes == result.bytes)
    }

    @Test func multipliesPointsByTheScaleAndRoundsToPixels() throws {
        let source = try numbered(40, 30, scale: 2)
        let result = try source.cropped(toPoints: rect(2.6, 3, 5, 4))
        #expect(result.pixels.size == PixelSize(width: 10, height: 8))
        #expect(result.pixels[0, 0] == SIMD4(5, 6, 7, 255))
        #expect(try source.cropped(toPoints: rect(2, 3, 0.1, 0.1)).pixels.size == PixelSize(width: 1, height: 1))
        // From 0.4 to 1.6 pixels: each edge is rounded.
        let edges = try source.cropped(toPoints: rect(0.2, 0.2, 0.6, 0.6))
        #expect(edges.pixels.size == PixelSize(width: 2, height: 2) && edges.pixels[0, 0] == SIMD4(0, 0, 7, 255))
    }

    @Test func cropsRectanglesBeyondTheEdges() throws {
        let source = try numbered(40, 30)
        let result = try source.cropped(toPoints: rect(-5, 25, 1e9, 1e300)).pixels
        #expect(result.size == PixelSize(width: 40, height: 5))
        #expect(result[0, 0] == SIMD4(0, 25, 7, 255))
    }

    @Test(arguments: [(40, 0), (0, 30), (-10, 0), (0, -10), (1e300, 0)] as [(Double, Double)])
    func rejectsRectanglesOutside(x: Double, y: Double) throws {
        let processor = ImageProcessor.crop(toPoints: rect(x, y, 10, 10))
        #expect(
            throws: WebImageError.processing(identifier: processor.identifier.description, reason: .emptyResult)
        ) { try processor.process(numbered(40, 30), cancellation: nil) }
    }

    @Test(arguments: [0, -3, .nan, .infinity] as [Double])
    func rejectsInvalidRectangles(side: Double) throws {
        let source = try numbered(4, 4)
        #expect(throws: WebImageError.self) { try source.cropped(toPoints: rect(0, 0, side, 2)) }
        #expect(throws: WebImageError.self) { try source.cropped(toPoints: rect(0, 0, 2, side)) }
        if side.isFinite {
            #expect(throws: WebImageError.self) {
                try source.cropped(toPixels: PixelRect(x: 0, y: 0, width: Int(side), height: 2))
            }
        } else {
            #expect(throws: WebImageError.self) { try source.cropped(toPoints: rect(side, 0, 2, 2)) }
        }
    }

    @Test(arguments: [0, -3]) func theErrorNamesTheSide(side: Int) throws {
        for (rect, name) in [
            (PixelRect(x: 0, y: 0, width: side, height: 2), "rect.width"),
            (PixelRect(x: 0, y: 0, width: 2, height: side), "rect.height"),
        ] {
            let processor = ImageProcessor.crop(toPixels: rect)
            let reason = WebImageError.ProcessingFailure.invalidParameter(name: name, value: "\(side)")
            #expect(
                throws: WebImageError.processing(identifier: processor.identifier.description, reason: reason)
            ) { try processor.process(numbered(4, 4), cancellation: nil) }
        }
    }

    @Test func memoryCostCountsSharedMemory() throws {
        let source = try numbered(400, 300)
        #expect(try source.cropped(toPoints: rect(0, 0, 400, 200)).memoryCost == source.memoryCost)
        #expect(try source.cropped(toPoints: rect(0, 0, 40, 20)).memoryCost == 40 * 20 * 4)
    }

    /// All processors support images with gaps between rows.
    @Test func cropsProcessLikeCopies() throws {
        let source = try GeometryFixture.source()
        let part = try source.cropped(toPoints: rect(3, 2, 41, 31))
        let copy = Image(pixels: try GeometryFixture.buffer(part.pixels.size, part.pixels.bytes))
        #expect(part.pixels.bytesPerRow == 48 * 4)
        #expect(copy.pixels.bytesPerRow == 41 * 4)
        let size = PointSize(width: 17, height: 14)
        let processors: [ImageProcessor] = [
            .resize(to: .points(size)), .resize(to: .points(size), filter: .fast),
            .letterbox(to: .points(size), color: .white),
            .rotate(degrees: 90), .rotate(degrees: 33), .flip(horizontally: true),
            .flip(vertically: true),
            .roundedCorners(radius: 5, border: Border(width: 2, color: .black)), .circle(),
            .inset(-3, color: .white), .inset(2),
            .draw(in: rect(1.5, 1.5, 20, 20), canvas: size), .crop(toPoints: rect(1, 1, 39, 29)),
        ]
        for processor in processors {
            let (one, other) = (try part.processed(by: [processor]), try copy.processed(by: [processor]))
            #expect(one.pixels.difference(from: other.pixels) == 0, "\(processor.identifier)")
        }
    }
}

@Suite(.timeLimit(.minutes(3))) struct InsetTests {
    @Test func cropsEdges() throws {
        let result = try numbered(20, 10).inset(by: PointInsets(top: 1, left: 2, bottom: 3, right: 4)).pixels
        #expect(result.size == PixelSize(width: 14, height: 6))
        #expect(result[0, 0] == SIMD4(2, 1, 7, 255))
        #expect(result[13, 5] == SIMD4(15, 6, 7, 255))
    }

    @Test func addsPixelsOfAColor() throws {
        let source = try GeometryFixture.source(scale: 2)
        let result = try source.inset(by: PointInsets(top: -1, left: -2, bottom: 0, right: -0.5), color: .white)
        #expect(result.pixels.size == PixelSize(width: 48 + 5, height: 36 + 2))
        for y in 0..<38 {
            for x in 0..<53 {
                // The color is around the image, not behind it.
                let isInside = (4..<52).contains(x) && y >= 2
                let expected = isInside ? source.pixels[x - 4, y - 2] : SIMD4(255, 255, 255, 255)
                #expect(result.pixels[x, y] == expected)
            }
        }
        #expect(!result.pixels.isOpaque)
    }

    @Test func addsAndCropsAtOnce() throws {
        let result = try numbered(20, 10).inset(by: PointInsets(left: 5, right: -5)).pixels
        #expect(result.size == PixelSize(width: 20, height: 10))
        #expect(result[0, 0] == SIMD4(5, 0, 7, 255))
        #expect(result[15, 0] == SIMD4(0, 0, 0, 0))
        #expect(!result.isOpaque)
        #expect(try numbered(20, 10).inset(by: PointInsets(-1), color: .black).pixels.isOpaque)
    }

    @Test func rejectsEmptyResults() throws {
        let source = try numbered(20, 10)
        for insets in [
            PointInsets(5), PointInsets(left: 20), PointInsets(left: 25, right: -10), PointInsets(top: 1e300),
        ] {
            let processor = ImageProcessor.inset(by: insets)
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
