import CWebImageKernels
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageProcessing

@Suite(.timeLimit(.minutes(3))) struct BlurTests {
    /// Box sizes and passes as in YYWebImage.
    @Test(arguments: [
        (0.3, 3, 1), (1, 3, 2), (2, 3, 3), (10, 9, 3), (20, 19, 3), (40, 37, 3), (60, 57, 3),
    ]) func choosesBoxesByTheRadius(radius: Double, length: Int, passCount: Int) {
        let blur = BoxBlur(radius: radius)
        #expect(blur?.boxRadius == length / 2)
        #expect(blur?.passCount == passCount)
    }

    @Test(arguments: [10.0, 20, 60]) func approximatesPillowsGaussian(radius: Double) throws {
        let input = try EffectPixels(fixture: "blur-picture")
        let expected = try EffectPixels(fixture: "blur-\(Int(radius))")
        let result = EffectPixels(try input.image().blurred(radius: radius))
        #expect(result.psnr(against: expected) > 52)
        #expect(result.difference(from: expected) <= 2)
    }

    /// Boxes by the formula, rounded to nearest after each.
    @Test(arguments: [(1, 1), (1, 40), (40, 1), (17, 33), (16, 16), (50, 3)], [2.0, 9, 134, 300])
    func isTheMeanOfBoxes(size: (width: Int, height: Int), radius: Double) throws {
        let input = EffectPixels(noise: size.width, size.height, seed: 1)
        let blur = try #require(BoxBlur(radius: radius))
        var expected = input
        for isVertical in [true, false] {
            for _ in 0..<blur.passCount { expected = box(expected, blur.boxRadius, isVertical: isVertical) }
        }
        #expect(EffectPixels(try input.buffer().blurred(radius: radius)) == expected)
    }

    private func box(_ pixels: EffectPixels, _ radius: Int, isVertical: Bool) -> EffectPixels {
        var result = pixels
        let length = isVertical ? pixels.height : pixels.width
        for y in 0..<pixels.height {
            for x in 0..<pixels.width {
                for channel in 0..<4 {
                    var sum = 0
                    for offset in -radius...radius {
                        let place = min(max((isVertical ? y : x) + offset, 0), length - 1)
                        let index = isVertical ? place * pixels.width + x : y * pixels.width + place
                        sum += Int(pixels.bytes[index * 4 + channel])
                    }
                    let count = 2 * radius + 1
                    result.bytes[(y * pixels.width + x) * 4 + channel] = UInt8((2 * sum + count) / (2 * count))
                }
            }
        }
        return result
    }

    @Test func givesTheSameOnEveryProcessor() {
        var generator = SplitMix64(seed: 3)
        let source = EffectPixels(noise: 37, 90, seed: 2).bytes
        for _ in 0..<40 {
            let columnCount = Int.random(in: 1...16, using: &generator)
            let rowCount = Int.random(in: 1...89, using: &generator)
            let first = Int.random(in: 0...20, using: &generator) * 4
            let radius = Int.random(in: 1...200, using: &generator)
            var scratch = [UInt8](repeating: 0, count: 2 * rowCount * 64)
            var fast = [UInt8](repeating: 9, count: (columnCount * rowCount + 1) * 4)
            var portable = fast
            source[first...].withUnsafeBufferPointer { source in
                cwi_blur_columns(
                    source.baseAddress, 37 * 4, columnCount, rowCount, radius, 3, &scratch, &fast)
                cwi_blur_columns_portable(
                    source.baseAddress, 37 * 4, columnCount, rowCount, radius, 3, &scratch, &portable)
            }
            #expect(fast == portable)
            #expect(fast.suffix(4) == [9, 9, 9, 9])
        }
    }

    /// All levels and boxes: the division is exact.
    @Test(arguments: [0.1, 1, 3, 31, 257, 8192, 1e30]) func flatColorsStayFlat(radius: Double) throws {
        let levels = EffectPixels(
            width: 256, height: 20,
            bytes: (0..<20).flatMap { _ in
                (UInt8.min...UInt8.max).flatMap { (level: UInt8) -> [UInt8] in [level, 0, level / 2, level] }
            })
        // Columns are constant, so a vertical blur changes nothing.
        let result = try levels.buffer().blurred(radius: radius)
        for level in [0, 1, 127, 128, 254, 255] {
            let flat = EffectPixels(width: 30, height: 9, pixel: [UInt8(level), 0, UInt8(level / 2), UInt8(level)])
            #expect(EffectPixels(try flat.buffer().blurred(radius: radius)) == flat)
        }
        #expect(EffectPixels(result).rows(from: 0, count: 1) == EffectPixels(result).rows(from: 19, count: 1))
    }

    @Test func keepsTheSumOfThePixels() throws {
        var dot = EffectPixels(width: 61, height: 61, pixel: [0, 0, 0, 0])
        for y in 25..<36 {
            for x in 25..<36 {
                dot.bytes.replaceSubrange((y * 61 + x) * 4..<(y * 61 + x) * 4 + 4, with: [255, 0, 255, 255])
            }
        }
        let sum = EffectPixels(try dot.buffer().blurred(radius: 10)).bytes.reduce(0) { $0 + Int($1) }
        let expected = dot.bytes.reduce(0) { $0 + Int($1) }
        #expect(abs(sum - expected) < expected / 50)
    }

    @Test func transparentPixelsAddNoColor() throws {
        var edge = EffectPixels(width: 40, height: 10, pixel: [0, 0, 0, 0])
        for y in 0..<10 {
            for x in 0..<20 {
                edge.bytes.replaceSubrange((y * 40 + x) * 4..<(y * 40 + x) * 4 + 4, with: [255, 255, 255, 255])
            }
        }
        let result = EffectPixels(try edge.buffer().blurred(radius: 12))
        #expect(result.isPremultiplied)
        for x in 0..<40 { #expect(Set(result[x, 5]).count == 1, "white stays white, at any alpha") }
        #expect(result[0, 0] == [255, 255, 255, 255])
    }

    @Test func isUprightAndOpaque() throws {
        var input = EffectPixels(width: 30, height: 20, pixel: [0, 0, 0, 255])
        for x in 0..<30 { input.bytes.replaceSubrange(x * 4..<x * 4 + 4, with: [255, 255, 255, 255]) }
        let buffer = try input.buffer().blurred(radius: 4)
        let result = EffectPixels(buffer)
        #expect(buffer.isOpaque && result.isOpaque)
        #expect(result[0, 0][0] > 100 && result[29, 0][0] > 100 && result[0, 19][0] == 0)
    }

    @Test(arguments: [(1, 1), (30_000, 1), (1, 30_000)]) func supportsImagesOfAnyShape(size: (Int, Int)) throws {
        let input = EffectPixels(width: size.0, height: size.1, pixel: [9, 8, 7, 200])
        #expect(EffectPixels(try input.buffer().blurred(radius: 1_000)) == input)
    }

    @Test func aRadiusOfZeroChangesNothing() throws {
        let image = try EffectPixels(noise: 9, 9, seed: 4).image()
        #expect(try image.blurred(radius: 0).pixels === image.pixels)
        #expect(try image.pixels.blurred(radius: .nan) === image.pixels)
    }

    @Test func theRadiusIsInPoints() throws {
        let input = EffectPixels(noise: 40, 30, seed: 5)
        let points = try input.image(scale: 2).blurred(radius: 5)
        #expect(EffectPixels(points) == EffectPixels(try input.buffer().blurred(radius: 10)))
        #expect(points.scale == 2)
    }

    @Test(arguments: [-1, .nan, .infinity]) func rejectsInvalidRadii(radius: Double) throws {
        let image = try EffectPixels(width: 2, height: 2, pixel: [1, 2, 3, 255]).image()
        let identifier = ImageProcessor.blur(BlurEffect(radius: radius)).identifier.description
        #expect(
            throws: WebImageError.processing(
                identifier: identifier, reason: .invalidParameter(name: "radius", value: "\(radius)"))
        ) { try image.blurred(radius: radius) }
    }

    @Test func stopsWhenCancelled() throws {
        let input = try EffectPixels(width: 600, height: 600, pixel: [1, 2, 3, 255]).image()
        let cancellation = Checkpoints(cancellingAt: 3).cancellation
        #expect(throws: WebImageError.cancelled) {
            try input.processed(by: [.blur(radius: 30)], cancellation: cancellation)
        }
    }
}

@Suite(.timeLimit(.minutes(3))) struct BlurEffectTests {
    private let gray = EffectPixels(width: 30, height: 20, pixel: [100, 100, 100, 255])

    @Test(arguments: [
        (BlurEffect.soft, 141), (.light, 147), (.extraLight, 221), (.dark, 47), (.tinted(.white), 193),
    ]) func tints(effect: BlurEffect, expected: Int) throws {
        let result = EffectPixels(try gray.image().blurred(effect))
        #expect(result[7, 7][3] == 255)
        #expect(result[7, 7].prefix(3).allSatisfy { abs(Int($0) - expected) <= 1 }, "\(result[7, 7])")
    }

    @Test func saturatesTheBlurredImage() throws {
        let reddish = try EffectPixels(width: 9, height: 9, pixel: [120, 100, 100, 255]).image()
        let result = EffectPixels(try reddish.blurred(BlurEffect(radius: 3, saturation: 2)))
        let expected = EffectPixels(try reddish.adjusted(saturation: 2))
        #expect(result == expected)
    }

    @Test func theTintHasAMode() throws {
        let effect = BlurEffect(radius: 3, tint: Color(red: 1, green: 0, blue: 0), tintMode: .multiply)
        #expect(EffectPixels(try gray.image().blurred(effect))[3, 3] == [100, 0, 0, 255])
    }

    @Test func theMaskKeepsTheOriginal() throws {
        let input = EffectPixels(noise: 64, 20, seed: 1)
        let halves = EffectPixels(
            width: 64, height: 20,
            bytes: (0..<20).flatMap { _ in
                (0..<64).flatMap { x -> [UInt8] in x < 32 ? [255, 255, 255, 255] : [0, 0, 0, 255] }
            })
        let effect = BlurEffect(radius: 8, saturation: 1.5, tint: Color(red: 0, green: 1, blue: 0, alpha: 0.5))
        let result = EffectPixels(try input.image().blurred(effect, mask: halves.image()))
        let blurred = EffectPixels(try input.image().blurred(effect))
        for y in 0..<20 {
            for x in 0..<64 { #expect(result[x, y] == (x < 32 ? blurred : input)[x, y]) }
        }
        let opaqueMask = try input.image().blurred(effect, mask: halves.image(), maskUsesAlpha: true)
        #expect(EffectPixels(opaqueMask) == blurred)
    }

    @Test func aHalfOpaqueMaskMixesBothImagesEqually() throws {
        let half = EffectPixels(width: 1, height: 1, pixel: [0, 0, 0, 128])
        let effect = BlurEffect(radius: 2, tint: .white)
        let result = try gray.image().blurred(effect, mask: half.image(), maskUsesAlpha: true)
        #expect(EffectPixels(result)[4, 4] == [178, 178, 178, 255])
    }

    @Test func rejectsInvalidNumbers() throws {
        let image = try gray.image()
        #expect(throws: WebImageError.self) { try image.blurred(BlurEffect(radius: 1, saturation: .nan)) }
        #expect(throws: WebImageError.self) {
            try image.blurred(BlurEffect(radius: 1, tint: Color(red: .nan, green: 0, blue: 0)))
        }
    }

    @Test func identifierHasEveryParameter() throws {
        let (mask, other) = (try gray.image(), try EffectPixels(noise: 30, 20, seed: 2).image())
        let effect = BlurEffect(radius: 3)
        let processors: [ImageProcessor] = [
            .blur(effect), .blur(.soft), .blur(.light), .blur(.extraLight), .blur(.dark), .blur(.tinted(.white)),
            .blur(BlurEffect(radius: 3, saturation: 2)), .blur(BlurEffect(radius: 3, tint: .white)),
            .blur(BlurEffect(radius: 3, tint: .white, tintMode: .multiply)), .blur(effect, mask: mask),
            .blur(effect, mask: other), .blur(effect, mask: mask, maskUsesAlpha: true),
            .blur(effect, mask: mask, maskID: "m"),
        ]
        #expect(Set(processors.map(\.identifier)).count == processors.count)
        // The tint mode makes no difference without a tint.
        #expect(
            ImageProcessor.blur(BlurEffect(radius: 3, tintMode: .color)).identifier == processors[0].identifier)
    }
}
