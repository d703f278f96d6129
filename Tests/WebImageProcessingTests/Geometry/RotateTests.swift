import Testing
import WebImageCore
import WebImageProcessing

@Suite struct RotateTests {
    /// ImageMagick reads between pixels, cairo cuts the shape out.
    @Test(arguments: [(30, false), (-77.5, false), (135, false), (12, true)] as [(Double, Bool)])
    func agreesWithImageMagickAndCairo(degrees: Double, keepsSize: Bool) throws {
        let result = try GeometryFixture.source().rotated(clockwise: .degrees(degrees), keepsSize: keepsSize)
        let text = degrees == degrees.rounded() ? "\(Int(degrees))" : "\(degrees)"
        let reference = try GeometryFixture.pixels("rotate-\(text)\(keepsSize ? "-kept" : "")")
        let difference = try #require(result.pixels.difference(from: reference))
        #expect(difference <= 2)
        #expect(result.pixels.isPremultiplied)
    }

    @Test func turnsByQuartersExactly() throws {
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
        let horizontal = try source.flipped(.horizontal).pixels
        let vertical = try source.flipped(.vertical).pixels
        for y in 0..<4 {
            for x in 0..<7 {
                #expect(horizontal[6 - x, y] == source.pixels[x, y])
                #expect(vertical[x, 3 - y] == source.pixels[x, y])
            }
        }
        let both = try source.flipped(.both).pixels
        #expect(both.bytes == (try source.rotated(clockwise: .degrees(180)).pixels.bytes))
        #expect(try source.flipped(.horizontal).flipped(.horizontal).pixels.bytes == source.pixels.bytes)
    }

    @Test func holdsTheWholePictureUnlessItKeepsItsSize() throws {
        let source = try flat(300, 300)
        #expect(try source.rotated(clockwise: .degrees(45)).pixels.size == PixelSize(width: 425, height: 425))
        #expect(try source.rotated(clockwise: .degrees(45), keepsSize: true).pixels.size == source.pixels.size)
    }

    /// Flat colour stays, its sum is the picture's area, and no edge is darker than its alpha says.
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

    @Test func turnsVeryLongPicturesAndSinglePixels() throws {
        let dot = try flat(1, 1).rotated(clockwise: .degrees(45)).pixels
        #expect(dot.size == PixelSize(width: 2, height: 2))
        let long = try flat(30_000, 1)
        #expect(try long.rotated(clockwise: .degrees(90)).pixels.size == PixelSize(width: 1, height: 30_000))
        #expect(try long.rotated(clockwise: .degrees(0.01)).pixels.size == PixelSize(width: 30_000, height: 7))
        #expect(try long.rotated(clockwise: .degrees(3), keepsSize: true).pixels.size == long.pixels.size)
    }

    /// It would need 1.8 GB.
    @Test func refusesAResultThatIsTooLarge() throws {
        let long = try flat(30_000, 1)
        let size = PixelSize(width: 21_214, height: 21_214)
        #expect(
            throws: WebImageError.processing(
                identifier: "rotate(degrees:45,keepsSize:no)",
                reason: .resultTooLarge(size, pixelLimit: 100_000_000))
        ) { try long.rotated(clockwise: .degrees(45)) }
    }

    @Test(arguments: [.nan, .infinity, -.infinity] as [Double])
    func refusesAnglesThatAreNone(degrees: Double) throws {
        let source = try flat(3, 3)
        #expect(throws: WebImageError.self) { try source.rotated(clockwise: .degrees(degrees)) }
        #expect(throws: WebImageError.self) { try source.rotated(clockwise: .radians(degrees)) }
    }
}
