import Testing
import WebImageCoding
import WebImageCore

@testable import WebImageProcessing

@Suite(.timeLimit(.minutes(3))) struct ResizeTests {
    private func box(_ width: Double, _ height: Double) -> PointSize { PointSize(width: width, height: height) }

    private static let green = Color(red: 0, green: 0.5, blue: 0, alpha: 200 / 255)

    @Test(arguments: [
        ("resize-stretch", 20, 31, FitMode.stretch), ("resize-fit", 20, 31, .aspectFit),
        ("resize-up", 101, 75, .stretch), ("resize-cropped", 25, 10, .aspectFillCropped(.center)),
        ("resize-cropped-tall", 10, 25, .aspectFillCropped(.center)), ("resize-letterbox", 20, 30, .letterbox(green)),
    ])
    func agreesWithPillow(name: String, width: Double, height: Double, mode: FitMode) throws {
        let result = try GeometryFixture.source().resized(to: .points(box(width, height)), mode: mode)
        let difference = try #require(result.pixels.difference(from: GeometryFixture.pixels(name)))
        // Pillow rounds to bytes between rows and columns, which a letterbox blends.
        #expect(difference <= (name == "resize-letterbox" ? 2 : 1))
        #expect(result.pixels.isPremultiplied)
    }

    @Test(arguments: [
        (FitMode.stretch, 30, 30), (.aspectFit, 30, 23), (.aspectFill, 40, 30),
        (.aspectFillCropped(.center), 30, 30), (.letterbox(.black), 30, 30),
    ])
    func hasTheSizeOfTheMode(mode: FitMode, width: Int, height: Int) throws {
        let (source, size) = (try GeometryFixture.source(), PixelSize(width: width, height: height))
        for filter in ResizeFilter.allCases {
            #expect(try source.resized(to: .points(box(30, 30)), mode: mode, filter: filter).pixels.size == size)
            let inPixels = try source.resized(to: .pixels(width: 30, height: 30), mode: mode, filter: filter)
            #expect(inPixels.pixels.size == size)
        }
    }

    @Test func keepsProportionsIfOneSideIsGiven() throws {
        let source = try GeometryFixture.source(scale: 2)
        let (wide, high) = (
            try source.resized(to: .points(width: 10)), try source.resized(to: .points(height: 15), filter: .fast)
        )
        #expect(wide.pixels.size == PixelSize(width: 20, height: 15))
        #expect(high.pixels.size == PixelSize(width: 40, height: 30))
        #expect(try source.resized(to: .points(width: 1e6), allowsUpscaling: false).pixels.size == source.pixels.size)
    }

    @Test func multipliesPointsByTheScale() throws {
        let source = try GeometryFixture.source(scale: 2)
        let result = try source.resized(to: .points(box(10, 10)), mode: .stretch)
        #expect(result.pixels.size == PixelSize(width: 20, height: 20))
        #expect(result.size == box(10, 10))
        #expect(result.scale == 2)
        #expect(try source.resized(to: .pixels(width: 10, height: 10), mode: .stretch).width == 10)
        #expect(
            try source.processed(by: [.resize(to: .points(width: 6))]).pixels.size == PixelSize(width: 12, height: 9))
        #expect(
            try source.processed(by: [.resize(to: .points(height: 6))]).pixels.size == PixelSize(width: 16, height: 12))
        #expect(
            try source.resized(to: .points(box(0.1, 0.1)), mode: .stretch).pixels.size == PixelSize(width: 1, height: 1)
        )
    }

    @Test func doesNotUpscaleUnlessAllowed() throws {
        let source = try GeometryFixture.source()
        func size(_ mode: FitMode, _ width: Double, _ height: Double) throws -> PixelSize {
            try source.resized(to: .points(box(width, height)), mode: mode, allowsUpscaling: false).pixels.size
        }
        #expect(try size(.aspectFit, 100, 100) == PixelSize(width: 48, height: 36))
        #expect(try size(.stretch, 100, 20) == PixelSize(width: 48, height: 20))
        #expect(try size(.aspectFillCropped(.center), 100, 20) == PixelSize(width: 48, height: 20))
        #expect(try size(.aspectFillCropped(.center), 100, 100) == PixelSize(width: 48, height: 36))
        let boxed = try source.resized(to: .points(box(60, 50)), mode: .letterbox(.clear), allowsUpscaling: false)
        #expect(boxed.pixels.size == PixelSize(width: 60, height: 50))
        #expect(boxed.pixels[6, 7] == source.pixels[0, 0])
        #expect(boxed.pixels[53, 42] == source.pixels[47, 35])
        #expect(boxed.pixels[5, 7] == SIMD4(0, 0, 0, 0))
    }

    @Test func theColorOfALetterboxIsBehindTransparentPixels() throws {
        let boxed = try flat(10, 10, [0, 0, 0, 0]).resized(to: .points(box(10, 10)), mode: .letterbox(.white))
        #expect(boxed.pixels[5, 5] == SIMD4(255, 255, 255, 255))
        let source = try flat(10, 10)
        let same = try source.resized(to: .points(box(10, 10)), mode: .letterbox(.white))
        #expect(same.pixels === source.pixels)
    }

    @Test func copiesPixelsIfNothingIsScaled() throws {
        let source = try numbered(40, 30)
        let cropped = try source.resized(to: .points(box(40, 21)), mode: .aspectFillCropped(.center))
        #expect(cropped.pixels[0, 0] == source.pixels[0, 4])
        #expect(cropped.pixels[39, 20] == source.pixels[39, 24])
    }

    @Test(arguments: ResizeFilter.allCases)
    func keepsFlatColorsFlat(filter: ResizeFilter) throws {
        let pixel: [UInt8] = [120, 7, 60, 133]
        let source = try flat(97, 61, pixel)
        for (width, height) in [(7.0, 200.0), (1, 1), (300, 5), (96, 60), (50, 31)] {
            let result = try source.resized(to: .points(box(width, height)), mode: .stretch, filter: filter)
            #expect(result.pixels.bytes == (0..<Int(width * height)).flatMap { _ in pixel })
        }
    }

    @Test(arguments: [ResizeFilter.lanczos, .fast])
    func keepsAStraightRampStraight(filter: ResizeFilter) throws {
        // Half-pixel centers: pixel x of 64 has the color of the ramp at 2x + 1 of 128.
        let bytes = (0..<128 * 8).flatMap { index -> [UInt8] in
            let value = UInt8(64 + index % 128)
            return [value, value, value, 255]
        }
        let size = PixelSize(width: 128, height: 8)
        let source = Image(pixels: try GeometryFixture.buffer(size, bytes, isOpaque: true))
        let result = try source.resized(to: .points(box(32, 8)), mode: .stretch, filter: filter)
        // Away from the edges.
        for x in 4..<28 { #expect(abs(Double(result.pixels[x, 4].x) - (64 + 4 * Double(x) + 1.5)) <= 1) }
        #expect(result.pixels.isOpaque)
    }

    @Test(arguments: [ResizeFilter.lanczos, .fast])
    func keepsTheAverageColor(filter: ResizeFilter) throws {
        let source = try GeometryFixture.source()
        func mean(_ image: Image) -> [Double] {
            let bytes = image.pixels.bytes
            return (0..<4).map { channel in
                let values = stride(from: channel, to: bytes.count, by: 4).map { Double(bytes[$0]) }
                return values.reduce(0, +) / Double(values.count)
            }
        }
        let result = try source.resized(to: .points(box(12, 9)), mode: .stretch, filter: filter)
        for (before, after) in zip(mean(source), mean(result)) { #expect(abs(before - after) < 2) }
    }

    /// Colors next to clear pixels must not darken.
    @Test func doesNotDarkenEdges() throws {
        let bytes = (0..<60 * 60).flatMap { index -> [UInt8] in
            index % 60 < 30 ? [255, 128, 0, 255] : [0, 0, 0, 0]
        }
        let source = Image(pixels: try GeometryFixture.buffer(PixelSize(width: 60, height: 60), bytes))
        for filter in ResizeFilter.allCases {
            let result = try source.resized(to: .points(box(17, 17)), filter: filter).pixels
            // Overshoot may brighten where alpha is clamped to 255.
            for x in 0..<17 where (20..<255).contains(result[x, 8].w) {
                let pixel = result[x, 8]
                #expect(abs(Int(pixel.x) - Int(pixel.w)) <= 1)
                #expect(abs(Int(pixel.y) * 2 - Int(pixel.w)) <= 3)
            }
        }
    }

    @Test(arguments: [0, -1, -0.0, .nan, .infinity, -.infinity] as [Double])
    func rejectsInvalidSizes(side: Double) throws {
        let source = try GeometryFixture.source()
        for size in [box(side, 10), box(10, side)] {
            for mode in [FitMode.aspectFit, .stretch, .letterbox(.black), .aspectFillCropped(.center)] {
                let processor = ImageProcessor.resize(to: .points(size), fit: mode)
                let reason = WebImageError.ProcessingFailure.invalidParameter(
                    name: size.width == 10 ? "height" : "width", value: side.description)
                #expect(
                    throws: WebImageError.processing(identifier: processor.identifier.description, reason: reason)
                ) { try processor.process(source, cancellation: nil) }
            }
        }
        #expect(throws: WebImageError.self) { try source.processed(by: [.resize(to: .points(width: side))]) }
        #expect(throws: WebImageError.self) {
            try source.resized(to: .pixels(width: 0, height: 5))
        }
        for height in [0, -1] {
            #expect(throws: WebImageError.self) { try source.resized(to: .pixels(width: 5, height: height)) }
        }
        let odd = Image(pixels: source.pixels, scale: side)
        #expect(throws: WebImageError.self) { try odd.resized(to: .points(box(10, 10))) }
    }

    @Test func rejectsResultsThatAreTooLarge() throws {
        let source = try GeometryFixture.source()
        let large = PixelSize(width: 20_000, height: 20_000)
        #expect(
            throws: WebImageError.processing(
                identifier: ImageProcessor.resize(
                    to: .pixels(width: large.width, height: large.height), mode: .stretch
                ).identifier.description,
                reason: .resultTooLarge(large, pixelLimit: 100_000_000))
        ) { try source.resized(to: .pixels(width: large.width, height: large.height), mode: .stretch) }
        #expect(throws: WebImageError.limitExceeded(reason: .side(width: 70_000, height: 10))) {
            try source.resized(to: .points(box(70_000, 10)), mode: .stretch)
        }
        for mode in [FitMode.aspectFill, .letterbox(.black), .aspectFillCropped(.center), .stretch] {
            #expect(throws: WebImageError.self) { try source.resized(to: .points(box(1e300, 1e300)), mode: mode) }
        }
    }

    @Test func supportsSinglePixelsAndVeryLongImages() throws {
        let dot = try flat(1, 1)
        let long = try flat(30_000, 1)
        for filter in ResizeFilter.allCases {
            let large = try dot.resized(to: .points(box(50, 40)), mode: .stretch, filter: filter)
            #expect(large.pixels.bytes.prefix(4) == [200, 100, 50, 255])
            #expect(
                try long.resized(to: .points(box(1, 1)), mode: .stretch, filter: filter).pixels.bytes == [
                    200, 100, 50, 255,
                ])
            #expect(
                try long.resized(to: .points(box(100, 100)), filter: filter).pixels.size
                    == PixelSize(width: 100, height: 1))
            #expect(
                try long.resized(to: .points(box(9, 9)), mode: .aspectFillCropped(.center), filter: filter).width == 9)
        }
    }

    @Test func aFilledBoxHasTheFocalPointInItsCenter() throws {
        let source = try numbered(40, 30)
        func corner(_ x: Double, _ y: Double) throws -> SIMD4<UInt8> {
            let focus = FocalPoint(x: x, y: y)
            return try source.processed(by: [
                .resize(toFill: .pixels(width: 20, height: 30), focus: focus)
            ]).pixels[0, 0]
        }
        #expect(try corner(0, 0).x == 10)
        #expect(try corner(-0.25, 1).x == 5)
        #expect(try corner(-1, 0).x == 0)
        #expect(try corner(1, -1).x == 20)
        // The center has the identifier, and so the cached images, that it had.
        let plain = ImageProcessor.resize(toFill: .pixels(width: 20, height: 30)).identifier
        #expect(ImageProcessor.resize(toFill: .pixels(width: 20, height: 30), focus: .center).identifier == plain)
        #expect(plain.description.contains("mode:aspectFillCropped,"))
        #expect(
            ImageProcessor.resize(toFill: .pixels(width: 20, height: 30), focus: FocalPoint(x: 0, y: 1)).identifier
                != ImageProcessor.resize(toFill: .pixels(width: 20, height: 30), focus: FocalPoint(x: 1, y: 0))
                .identifier)
    }
}
