import Testing
@testable import WebImageCore

@testable import WebImageProcessing

@Suite(.timeLimit(.minutes(3))) struct RotateTests {
    /// ImageMagick interpolates, cairo cuts out the shape.
    @Test(arguments: [(30, false), (-77.5, false), (135, false), (12, true)] as [(Double, Bool)])
    func agreesWithImageMagickAndCairo(degrees: Double, keepsSize: Bool) throws {
        let result = try GeometryFixture.source().rotated(clockwise: .degrees(degrees), keepsSize: keepsSize)
        let text = degrees == degrees.rounded() ? "\(Int(degrees))" : "\(degrees)"
        let reference = try GeometryFixture.pixels("rotate-\(text)\(keepsSize ? "-kept" : "")")
        let difference = try #require(result.pixels.difference(from: reference))
        #expect(difference <= 2)
        #expect(result.pixels.isPremultiplied)
    }

    @Test func quarterTurnsAreExact() throws {
        let source = try numbered(7, 4)
        let right = try source.rotated(clockwise: .degrees(90)).pixels
        let half = try source.rotated(clockwise: .degrees(-180)).pixels
        let left = try source.rotated(clockwise: .degrees(270)).pixels
        #expect(right.size == PixelSize(width: 4, height: 7))
        for y in 0..<4 {
            for x in 0..<7 {
                let pixel = source.pixels[x, y]
                #expect(right[3 - y, x] == pixel)
                #expect(half[6 - x, 3 - y] == pixel)
                #expect(left[y, 6 - x] == pixel)
            }
        }
        #expect(right.isOpaque)
        #expect(try source.rotated(clockwise: .degrees(360)).pixels === source.pixels)
        #expect(try source.rotated(clockwise: .radians(.pi / 2)).pixels.bytes == right.bytes)
        #expect(try source.rotated(clockwise: .degrees(-1e-20)).pixels === source.pixels)
    }

    @Test func aRotatedSizeHasNoPixelForErrorsOfArithmetic() {
        let size = PixelSize(width: 40, height: 30)
        for (radians, rotated) in [
            (Double.pi / 2, size.transposed), (.pi, size), (-.pi / 2, size.transposed), (0, size),
        ] {
            #expect(size.rotated(clockwise: radians) == rotated)
        }
        #expect(size.rotated(clockwise: 0.001) == PixelSize(width: 41, height: 31))
    }

    @Test func keepsTheSizeInQuarterTurns() throws {
        let source = try numbered(7, 4)
        let result = try source.rotated(clockwise: .degrees(90), keepsSize: true).pixels
        #expect(result.size == source.pixels.size)
        let whole = try source.rotated(clockwise: .degrees(90)).pixels
        // 7 rows in 4: one and a half would be cut at the top, so two are. 4 columns in 7: one and a half are added.
        for y in 0..<4 { for x in 0..<4 { #expect(result[x + 1, y] == whole[x, y + 2]) } }
        #expect(result[0, 0] == SIMD4(0, 0, 0, 0))
        #expect(!result.isOpaque)
        #expect(try source.rotated(clockwise: .degrees(180), keepsSize: true).pixels.isOpaque)
    }

    @Test func mirrors() throws {
        let source = try numbered(7, 4)
        let horizontal = try source.flipped(horizontally: true).pixels
        let vertical = try source.flipped(vertically: true).pixels
        for y in 0..<4 {
            for x in 0..<7 {
                #expect(horizontal[6 - x, y] == source.pixels[x, y])
                #expect(vertical[x, 3 - y] == source.pixels[x, y])
            }
        }
        let both = try source.flipped(horizontally: true, vertically: true).pixels
        #expect(both.bytes == (try source.rotated(clockwise: .degrees(180)).pixels.bytes))
        #expect(try source.flipped(horizontally: true).flipped(horizontally: true).pixels.bytes == source.pixels.bytes)
    }

    @Test func holdsTheWholeImageUnlessItKeepsItsSize() throws {
        let source = try flat(300, 300)
        #expect(try source.rotated(clockwise: .degrees(45)).pixels.size == PixelSize(width: 425, height: 425))
        #expect(try source.rotated(clockwise: .degrees(45), keepsSize: true).pixels.size == source.pixels.size)
    }

    /// Flat color stays, its sum is the area of the image, and edges are not darkened.
    @Test(arguments: [1, 17, 45, 89.9, 200.5] as [Double])
    func keepsColorAndArea(degrees: Double) throws {
        let result = try flat(61, 43, [255, 128, 0, 255]).rotated(clockwise: .degrees(degrees)).pixels
        let bytes = result.bytes
        var covered = 0.0
        for index in stride(from: 0, to: bytes.count, by: 4) {
            let alpha = bytes[index + 3]
            covered += Double(alpha) / 255
            #expect(bytes[index] == alpha)
            #expect(abs(Int(bytes[index + 1]) * 255 - Int(alpha) * 128) <= 255)
        }
        #expect(abs(covered - 61 * 43) < 1)
    }

    @Test func supportsSinglePixelsAndVeryLongImages() throws {
        let dot = try flat(1, 1).rotated(clockwise: .degrees(45)).pixels
        #expect(dot.size == PixelSize(width: 2, height: 2))
        let long = try flat(30_000, 1)
        #expect(try long.rotated(clockwise: .degrees(90)).pixels.size == PixelSize(width: 1, height: 30_000))
        #expect(try long.rotated(clockwise: .degrees(0.01)).pixels.size == PixelSize(width: 30_000, height: 7))
        #expect(try long.rotated(clockwise: .degrees(3), keepsSize: true).pixels.size == long.pixels.size)
    }

    /// It would need 1.8 GB.
    @Test func rejectsResultsThatAreTooLarge() throws {
        let long = try flat(30_000, 1)
        let size = PixelSize(width: 21_214, height: 21_214)
        #expect(
            throws: WebImageError.processing(
                identifier: "rotate(degrees:45,keepsSize:no)",
                reason: .resultTooLarge(size, pixelLimit: 100_000_000))
        ) { try long.rotated(clockwise: .degrees(45)) }
    }

    @Test(arguments: [.nan, .infinity, -.infinity] as [Double])
    func rejectsInvalidAngles(degrees: Double) throws {
        let source = try flat(3, 3)
        #expect(throws: WebImageError.self) { try source.rotated(clockwise: .degrees(degrees)) }
        #expect(throws: WebImageError.self) { try source.rotated(clockwise: .radians(degrees)) }
    }
}

@Suite(.timeLimit(.minutes(3))) struct RoundedCornersTests {
    private func check(_ image: Image, _ name: String) throws {
        let difference = try #require(image.pixels.difference(from: GeometryFixture.pixels(name)))
        #expect(difference <= 1, "\(name)")
        #expect(image.pixels.isPremultiplied)
        #expect(!image.pixels.isOpaque)
    }

    @Test func coversPixelsLikeCairo() throws {
        let source = try GeometryFixture.source()
        try check(source.withRoundedCorners(radius: 7.3), "rounded")
        try check(
            source.withRoundedCorners(radii: CornerRadii(topRight: 5, bottomRight: 12, bottomLeft: 20.5)),
            "rounded-each")
        try check(source.withRoundedCorners(radius: 18), "rounded-pill")
        try check(source.croppedToCircle(), "circle")
    }

    @Test func drawsBordersLikeCairo() throws {
        let source = try GeometryFixture.source()
        let orange = Color(red: 1, green: 0.5, blue: 0, alpha: 0.6)
        try check(source.withRoundedCorners(radius: 10, border: Border(width: 3.5, color: orange)), "border-rounded")
        let blue = Color(red: 0, green: 0, blue: 1)
        for join in LineJoin.allCases {
            try check(
                source.withRoundedCorners(radius: 0, border: Border(width: 5, color: blue, join: join)),
                "border-\(join)")
        }
    }

    @Test func multipliesPointsByTheScale() throws {
        let source = try GeometryFixture.source(scale: 2)
        try check(source.withRoundedCorners(radius: 3.65), "rounded")
        let orange = Color(red: 1, green: 0.5, blue: 0, alpha: 0.6)
        try check(source.withRoundedCorners(radius: 5, border: Border(width: 1.75, color: orange)), "border-rounded")
    }

    @Test func shrinksRadiiThatDoNotFit() throws {
        let source = try GeometryFixture.source()
        for radius in [18, 19, 1000, 1e300, .greatestFiniteMagnitude] {
            try check(source.withRoundedCorners(radius: radius), "rounded-pill")
        }
        // Two radii of one side keep their proportion.
        let large = try source.withRoundedCorners(radii: CornerRadii(topLeft: 24, bottomLeft: 48)).pixels
        let fitting = try source.withRoundedCorners(radii: CornerRadii(topLeft: 12, bottomLeft: 24)).pixels
        #expect(large.difference(from: fitting) == 0)
    }

    @Test func keepsOtherCornersAndTheMiddle() throws {
        let source = try GeometryFixture.source()
        let result = try source.withRoundedCorners(radii: CornerRadii(topRight: 9)).pixels
        for y in 0..<36 {
            for x in 0..<48 where x < 39 || y >= 9 { #expect(result[x, y] == source.pixels[x, y]) }
        }
        #expect(result[47, 0] == SIMD4(0, 0, 0, 0))
        let same = try source.withRoundedCorners(radius: 0)
        #expect(same.pixels === source.pixels)
    }

    /// The sum of the coverage is the area of the shape.
    @Test(arguments: [1, 3.3, 10, 25] as [Double])
    func coversTheAreaOfTheShape(radius: Double) throws {
        let result = try flat(50, 60).withRoundedCorners(radius: radius).pixels
        let bytes = result.bytes
        let covered = stride(from: 3, to: bytes.count, by: 4).reduce(0.0) { $0 + Double(bytes[$1]) / 255 }
        #expect(abs(covered - (3000 - (4 - .pi) * radius * radius)) < 0.3)
    }

    @Test func isTheSameInAllFourCorners() throws {
        let result = try flat(41, 33).withRoundedCorners(radius: 11, border: Border(width: 2.5, color: .black)).pixels
        for y in 0..<33 {
            for x in 0..<41 {
                #expect(result[x, y] == result[40 - x, y])
                #expect(result[x, y] == result[x, 32 - y])
            }
        }
    }

    @Test func fillsAnImageSmallerThanItsBorder() throws {
        let border = Border(width: 100, color: .white)
        let widest = Border(width: .greatestFiniteMagnitude, color: .white)
        let huge = try flat(9, 5, scale: 3).withRoundedCorners(radius: 0, border: widest)
        #expect(huge.pixels.bytes == [UInt8](repeating: 255, count: 180))
        #expect(
            try flat(9, 5).withRoundedCorners(radius: 0, border: border).pixels.bytes
                == [UInt8](repeating: 255, count: 180))
        for image in [try flat(1, 1), try flat(30_000, 1), try flat(1, 300)] {
            let result = try image.withRoundedCorners(radius: 3, border: border)
            #expect(result.pixels.size == image.pixels.size)
            #expect(try image.croppedToCircle(border: border).pixels.width == 1)
        }
    }

    @Test func cutsOutACircle() throws {
        let source = try numbered(31, 10)
        let result = try source.processed(by: [.circle()]).pixels
        #expect(result.size == PixelSize(width: 10, height: 10))
        #expect(result[5, 5] == source.pixels[15, 5])
        #expect(result[0, 0] == SIMD4(0, 0, 0, 0))
    }

    @Test(arguments: [-1, .nan, .infinity] as [Double])
    func rejectsInvalidLengths(value: Double) throws {
        let source = try flat(10, 10)
        #expect(throws: WebImageError.self) { try source.withRoundedCorners(radius: value) }
        #expect(throws: WebImageError.self) { try source.withRoundedCorners(radii: CornerRadii(bottomLeft: value)) }
        let border = Border(width: value, color: .black)
        #expect(throws: WebImageError.self) { try source.withRoundedCorners(radius: 2, border: border) }
        #expect(throws: WebImageError.self) { try source.croppedToCircle(border: border) }
    }
}
