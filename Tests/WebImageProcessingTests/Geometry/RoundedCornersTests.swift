import Testing
import WebImageCore
import WebImageProcessing

@Suite struct RoundedCornersTests {
    private func check(_ image: Image, _ name: String) throws {
        let difference = try #require(image.pixels.difference(from: GeometryFixture.pixels(name)))
        #expect(difference <= 1, "\(name)")
        #expect(image.pixels.isPremultiplied)
        #expect(!image.pixels.isOpaque)
    }

    @Test func coversAsMuchOfEachPixelAsCairoDoes() throws {
        let source = try GeometryFixture.source()
        try check(source.withRoundedCorners(radius: 7.3), "rounded")
        try check(
            source.withRoundedCorners(radii: CornerRadii(topRight: 5, bottomRight: 12, bottomLeft: 20.5)),
            "rounded-each")
        try check(source.withRoundedCorners(radius: 18), "rounded-pill")
        try check(source.croppedToCircle(), "circle")
    }

    @Test func drawsBordersAsCairoDoes() throws {
        let source = try GeometryFixture.source()
        let orange = Color(red: 1, green: 0.5, blue: 0, alpha: 0.6)
        try check(source.withRoundedCorners(radius: 10, border: Border(width: 3.5, color: orange)), "border-rounded")
        let blue = Color(red: 0, green: 0, blue: 1)
        for join in Border.Join.allCases {
            try check(
                source.withRoundedCorners(radius: 0, border: Border(width: 5, color: blue, join: join)),
                "border-\(join.rawValue)")
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

    @Test func leavesOtherCornersAndTheMiddleAsTheyAre() throws {
        let source = try GeometryFixture.source()
        let result = try source.withRoundedCorners(radius: 9, corners: [.topRight]).pixels
        for y in 0..<36 {
            for x in 0..<48 where x < 39 || y >= 9 { #expect(result[x, y] == source.pixels[x, y]) }
        }
        #expect(result[47, 0] == SIMD4(0, 0, 0, 0))
        let same = try source.withRoundedCorners(radius: 0)
        #expect(same.pixels === source.pixels)
    }

    /// The sum of what is covered is the shape's area.
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

    @Test func fillsAPictureThatIsAllBorder() throws {
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

    @Test func cutsACircleOutOfTheMiddle() throws {
        let source = try numbered(31, 10)
        let result = try source.processed(by: [.circle()]).pixels
        #expect(result.size == PixelSize(width: 10, height: 10))
        #expect(result[5, 5] == source.pixels[15, 5])
        #expect(result[0, 0] == SIMD4(0, 0, 0, 0))
    }

    @Test(arguments: [-1, .nan, .infinity] as [Double])
    func refusesLengthsThatMakeNoSense(value: Double) throws {
        let source = try flat(10, 10)
        #expect(throws: WebImageError.self) { try source.withRoundedCorners(radius: value) }
        #expect(throws: WebImageError.self) { try source.withRoundedCorners(radii: CornerRadii(bottomLeft: value)) }
        let border = Border(width: value, color: .black)
        #expect(throws: WebImageError.self) { try source.withRoundedCorners(radius: 2, border: border) }
        #expect(throws: WebImageError.self) { try source.croppedToCircle(border: border) }
    }
}
