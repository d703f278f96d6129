import Testing
import WebImageCore
import WebImageProcessing

@testable import WebImageDrawing

@Suite(.timeLimit(.minutes(3))) struct DrawTests {
    private let blue = Color(red: 0, green: 0, blue: 1)

    @Test func drawsOverAnImage() throws {
        let blue = blue
        let processor: ImageProcessor = .draw(id: "corner") { context, size in
            #expect(size == PointSize(width: 4, height: 2))
            context.fill(Path(PointRect(x: 3, y: 1, width: 1, height: 1)), with: .color(blue))
        }
        let image = try gradient(PixelSize(width: 8, height: 4), scale: 2)
        let result = try image.processed(by: [processor])
        #expect(result.isTransformed && result.scale == 2)
        #expect(processor.identifier.description == "drawing(id:corner)")
        for y in 0..<4 {
            for x in 0..<8 {
                let isCorner = x >= 6 && y >= 2
                #expect(result.pixels[x, y] == (isCorner ? SIMD4(0, 0, 255, 255) : image.pixels[x, y]))
            }
        }
    }

    @Test func drawsOverAnImageWithoutAName() throws {
        let image = try gradient(PixelSize(width: 9, height: 5), scale: 1)
        let part = try image.processed(by: [.crop(toPixels: PixelRect(x: 1, y: 1, width: 8, height: 4))])
        let result = try part.processed(by: [
            .draw(id: "") { context, size in
                context.fill(Path(PointRect(x: 0, y: 0, width: 1, height: size.height)), with: .color(.black))
            }
        ])
        #expect(result.pixels.size == part.pixels.size)
        for y in 0..<4 {
            #expect(result.pixels[0, y] == SIMD4(0, 0, 0, 255))
            for x in 1..<8 { #expect(result.pixels[x, y] == image.pixels[x + 1, y + 1]) }
        }
    }

    @Test func keepsOpacity() throws {
        let image = try Image(size: PointSize(width: 2, height: 2), isOpaque: true) { $0.fill(with: .color(.white)) }
        let result = try image.processed(by: [
            .draw(id: "hole") { context, _ in context.fill(with: .color(.clear), mode: .clear) }
        ])
        #expect(result.pixels.isOpaque && result.pixels[0, 0] == SIMD4(0, 0, 0, 255))
    }

    @Test func throwsErrors() throws {
        let image = try gradient(PixelSize(width: 2, height: 2), scale: 1)
        #expect(throws: WebImageError.drawing(.failed("full"))) {
            try image.processed(by: [.draw(id: "x") { _, _ in throw Failure.full }])
        }
        let cancellation = Cancellation()
        cancellation.cancel()
        #expect(throws: WebImageError.cancelled) {
            try image.processed(by: [.draw(id: "x") { _, _ in }], cancellation: cancellation)
        }
        var scaled = image
        scaled.scale = 0
        #expect(throws: WebImageError.self) { try scaled.processed(by: [.draw(id: "x") { _, _ in }]) }
    }

    private enum Failure: Error { case full }
}

@Suite(.timeLimit(.minutes(3))) struct MaskTests {
    @Test func keepsTheInsideWithSmoothEdges() throws {
        let image = try gradient(PixelSize(width: 8, height: 8), scale: 1)
        let masked = try image.processed(by: [.mask(Path(PointRect(x: 2, y: 2, width: 4.5, height: 3)))])
        #expect(!masked.pixels.isOpaque)
        for y in 0..<8 {
            for x in 0..<8 {
                let part = (2..<5).contains(y) ? ((2..<6).contains(x) ? 1.0 : x == 6 ? 0.5 : 0) : 0
                for channel in 0..<4 {
                    let expected = Double(image.pixels[x, y][channel]) * part
                    #expect(abs(Double(masked.pixels[x, y][channel]) - expected) <= 1, "\(x), \(y)")
                }
            }
        }
    }

    @Test func keepsTheOutsideIfInverted() throws {
        let image = try gradient(PixelSize(width: 20, height: 20), scale: 2)
        let circle = Path(circleAround: Point(x: 5, y: 5), radius: 3)
        let inside = try image.processed(by: [.mask(circle)])
        let outside = try image.processed(by: [.mask(circle, isInverted: true)])
        for y in 0..<20 {
            for x in 0..<20 {
                for channel in 0..<4 {
                    let sum = Int(inside.pixels[x, y][channel]) + Int(outside.pixels[x, y][channel])
                    #expect(abs(sum - Int(image.pixels[x, y][channel])) <= 1)
                }
            }
        }
        // A circle with a radius of 6 pixels.
        let opaque = try Image(size: PointSize(width: 20, height: 20)) { $0.fill(with: .color(.white)) }
        let disc = try opaque.processed(by: [.mask(Path(circleAround: Point(x: 10, y: 10), radius: 6))])
        #expect(abs(coverage(of: disc) - .pi * 36) < 2)
    }

    @Test func colorNeverExceedsAlpha() throws {
        let image = try gradient(PixelSize(width: 64, height: 64), scale: 1)
        let result = try image.processed(by: [
            .mask(Path(ellipseIn: PointRect(x: 3.3, y: 5.7, width: 50.1, height: 41.9)))
        ])
        for y in 0..<64 {
            for x in 0..<64 {
                let pixel = result.pixels[x, y]
                #expect(pixel.x <= pixel.w && pixel.y <= pixel.w && pixel.z <= pixel.w)
            }
        }
    }

    @Test func emptyAndFarPathsLeaveNothing() throws {
        let image = try gradient(PixelSize(width: 4, height: 4), scale: 1)
        for path in [Path(), Path(PointRect(x: 100, y: 100, width: 5, height: 5))] {
            #expect(coverage(of: try image.processed(by: [.mask(path)])) == 0)
            #expect(bytes(of: try image.processed(by: [.mask(path, isInverted: true)])) == bytes(of: image))
        }
        #expect(throws: WebImageError.self) {
            try image.processed(by: [.mask(Path(PointRect(x: .nan, y: 0, width: 1, height: 1)))])
        }
    }

    @Test func identifiersHaveEveryParameter() {
        let path = Path(polygon: [Point(x: 1, y: 2)])
        let masks = [
            ImageProcessor.mask(path), ImageProcessor.mask(path, isEvenOdd: true),
            ImageProcessor.mask(path, isInverted: true), ImageProcessor.mask(Path()),
        ]
        #expect(Set(masks.map(\.identifier)).count == 4)
        #expect(masks[0].identifier.description == "pathMask(path:M1_2Z,rule:winding,isInverted:no)")
    }
}

/// All colors and opacities.
private func gradient(_ size: PixelSize, scale: Double) throws -> Image {
    var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
    pixels.withUnsafeMutableBytes { bytes in
        for y in 0..<size.height {
            for x in 0..<size.width {
                let alpha = 255 - x * 255 / size.width
                let offset = (y * size.width + x) * 4
                bytes[offset] = UInt8(alpha)
                bytes[offset + 1] = UInt8(alpha * y / size.height)
                bytes[offset + 2] = UInt8(alpha / 3)
                bytes[offset + 3] = UInt8(alpha)
            }
        }
    }
    return Image(pixels: pixels.freeze(isOpaque: false), scale: scale)
}
