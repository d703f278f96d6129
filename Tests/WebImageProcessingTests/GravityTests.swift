import Testing
import WebImageCore

@testable import WebImageProcessing

/// Crops to a size or to proportions, and the removal of borders.
@Suite(.timeLimit(.minutes(3))) struct GravityTests {
    private func cropped(_ image: Image, _ processor: ImageProcessor) throws -> Image {
        try image.processed(by: [processor])
    }

    @Test(arguments: [
        (Gravity.center, 15, 11), (.north, 15, 0), (.northEast, 30, 0), (.east, 30, 11), (.southEast, 30, 22),
        (.south, 15, 22), (.southWest, 0, 22), (.west, 0, 11), (.northWest, 0, 0),
    ])
    func keepsThePartAtAPlace(gravity: Gravity, x: Int, y: Int) throws {
        let part = try cropped(numbered(40, 30), .crop(to: PixelSize(width: 10, height: 8), gravity: gravity)).pixels
        #expect(part.size == PixelSize(width: 10, height: 8))
        #expect(part[0, 0] == SIMD4(UInt8(x), UInt8(y), 7, 255))
    }

    @Test func keepsTheLargestPartWithTheProportions() throws {
        let source = try numbered(40, 30)
        func size(_ width: Double, _ height: Double) throws -> PixelSize {
            try cropped(source, .crop(toProportions: width, height, gravity: .center)).pixels.size
        }
        #expect(try size(16, 9) == PixelSize(width: 40, height: 23))
        #expect(try size(1, 1) == PixelSize(width: 30, height: 30))
        #expect(try size(4, 3) == PixelSize(width: 40, height: 30))
        #expect(try size(1, 100) == PixelSize(width: 1, height: 30))
        #expect(throws: WebImageError.self) { try size(0, 1) }
    }

    @Test func keepsImagesThatAreSmaller() throws {
        let part = try cropped(numbered(40, 30), .crop(to: PixelSize(width: 100, height: 10), gravity: .south)).pixels
        #expect(part.size == PixelSize(width: 40, height: 10))
        #expect(part[0, 0] == SIMD4(0, 20, 7, 255))
    }

    /// A gray image with a square of another color.
    private func scene(_ width: Int, _ height: Int, square: PixelRect, _ color: [UInt8]) throws -> Image {
        let bytes = (0..<width * height).flatMap { index -> [UInt8] in
            let (x, y) = (index % width, index / width)
            let isInside =
                (square.x..<square.x + square.width).contains(x) && (square.y..<square.y + square.height).contains(y)
            return isInside ? color : [120, 120, 120, 255]
        }
        return Image(
            pixels: try GeometryFixture.buffer(PixelSize(width: width, height: height), bytes, isOpaque: true))
    }

    @Test(arguments: [
        ("skin", [224, 172, 138, 255] as [UInt8]), ("saturation", [220, 20, 30, 255]), ("edges", [30, 30, 30, 255]),
    ])
    func smartCropsFindWhatPeopleLookAt(_: String, color: [UInt8]) throws {
        for left in [10, 130, 250] {
            let image = try scene(
                300, 100, square: PixelRect(x: left, y: 30, width: 40, height: 40), color)
            let rect = try AttentionCrop(image.pixels).rect(of: PixelSize(width: 100, height: 100))
            #expect(rect.size == PixelSize(width: 100, height: 100))
            #expect(rect.x <= left && rect.x + 100 >= left + 40, "\(rect) for \(left)")
        }
    }

    @Test func aFaceWinsOverAnEdgeOfEqualSize() throws {
        var image = try scene(300, 100, square: PixelRect(x: 20, y: 30, width: 40, height: 40), [224, 172, 138, 255])
        image = try image.processed(by: [
            .blend(try flat(40, 40, [90, 90, 90, 255]), id: "gray", x: 240, y: 30)
        ])
        let rect = try AttentionCrop(image.pixels).rect(of: PixelSize(width: 100, height: 100))
        #expect(rect.x <= 20, "\(rect)")
    }

    @Test func smartCropsOfPlainImagesAreCentered() throws {
        let rect = try AttentionCrop(flat(90, 30).pixels).rect(of: PixelSize(width: 30, height: 30))
        #expect(rect == PixelRect(x: 30, y: 0, width: 30, height: 30))
        #expect(
            try AttentionCrop(flat(1, 1).pixels).rect(of: PixelSize(width: 1, height: 1)).size
                == PixelSize(width: 1, height: 1))
    }

    @Test func trimsTheBorderOfOneColor() throws {
        let content = PixelRect(x: 12, y: 7, width: 20, height: 9)
        let image = try scene(50, 40, square: content, [0, 0, 0, 255])
        #expect(try cropped(image, .trim()).pixels.bytes == cropped(image, .crop(toPixels: content)).pixels.bytes)
    }

    @Test func toleratesSmallDifferencesInTheBorder() throws {
        let image = try scene(50, 40, square: PixelRect(x: 1, y: 1, width: 9, height: 9), [129, 120, 112, 255])
        #expect(try cropped(image, .trim(tolerance: 9)).pixels.size == PixelSize(width: 50, height: 40))
        #expect(try cropped(image, .trim(tolerance: 8)).pixels.size == PixelSize(width: 9, height: 9))
        #expect(throws: WebImageError.self) { try cropped(image, .trim(tolerance: 256)) }
    }

    @Test func tellsCropsApart() {
        let size = PixelSize(width: 3, height: 2)
        let identifiers = [
            ImageProcessor.crop(to: size, gravity: .smart), .crop(to: size, gravity: .north),
            .crop(toProportions: 3, 2, gravity: .smart), .trim(), .trim(tolerance: 3),
        ].map(\.identifier.description)
        #expect(Set(identifiers).count == 5)
    }
}
