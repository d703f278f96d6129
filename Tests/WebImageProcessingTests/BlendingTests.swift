import CWebImageKernels
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageProcessing

@Suite(.timeLimit(.minutes(3))) struct BlendModeTests {
    /// Each alpha of the source over each of the backdrop, with all colors.
    @Test(arguments: Array(BlendMode.allCases.enumerated()).map(\.offset))
    func matchesCairo(index: Int) throws {
        let source = try EffectPixels(fixture: "blend-source")
        let backdrop = try EffectPixels(fixture: "blend-backdrop")
        let expected = try EffectPixels(fixture: "blend-modes")
        let mode = BlendMode.allCases[index]
        let result = try backdrop.image().blended(with: source.image(), mode: mode)
        let reference = expected.rows(from: index * backdrop.height, count: backdrop.height)
        #expect(EffectPixels(result).difference(from: reference) <= 1, "\(mode)")
    }

    @Test(arguments: BlendMode.allCases) func givesPremultipliedPixels(mode: BlendMode) throws {
        let (above, below) = (EffectPixels(noise: 37, 21, seed: 1), EffectPixels(noise: 37, 21, seed: 2))
        let result = try below.image().blended(with: above.image(), mode: mode, opacity: 0.7)
        #expect(EffectPixels(result).isPremultiplied)
    }

    /// Lengths and addresses that are not aligned to vectors.
    @Test(arguments: BlendMode.allCases) func givesTheSameOnEveryProcessor(mode: BlendMode) {
        let (above, below) = (EffectPixels(noise: 101, 7, seed: 3).bytes, EffectPixels(noise: 101, 7, seed: 4).bytes)
        var generator = SplitMix64(seed: 5)
        for _ in 0..<40 {
            let count = Int.random(in: 0...600, using: &generator)
            let start = Int.random(in: 0...100, using: &generator) * 4
            let opacity = Float.random(in: 0...1, using: &generator)
            var fast = [UInt8](repeating: 9, count: (count + 1) * 4)
            var portable = fast
            above[start...].withUnsafeBufferPointer { above in
                below[start...].withUnsafeBufferPointer { below in
                    cwi_blend(mode.kernel, above.baseAddress, below.baseAddress, &fast, count, opacity)
                    cwi_blend_portable(mode.kernel, above.baseAddress, below.baseAddress, &portable, count, opacity)
                }
            }
            #expect(fast == portable)
            #expect(fast.suffix(4) == [9, 9, 9, 9])
        }
    }

    @Test(arguments: BlendMode.allCases) func isOpaqueIsCorrect(mode: BlendMode) throws {
        let below = EffectPixels(noise: 20, 20, seed: 6, isOpaque: true)
        for isOpaque in [true, false] {
            let above = EffectPixels(noise: 9, 9, seed: 7, isOpaque: isOpaque)
            for opacity in [1, 0.5] {
                let result = try below.image().blended(with: above.image(), x: 3, y: 2, mode: mode, opacity: opacity)
                #expect(!result.pixels.isOpaque || EffectPixels(result).isOpaque, "\(mode)")
            }
        }
        #expect(try below.image().blended(with: below.image()).pixels.isOpaque)
    }
}

@Suite(.timeLimit(.minutes(3))) struct BlendTests {
    private let white = EffectPixels(width: 10, height: 8, pixel: [255, 255, 255, 255])
    private let red = EffectPixels(width: 4, height: 3, pixel: [255, 0, 0, 255])

    /// The pixels that are not white.
    private func changed(_ image: Image) -> [[Int]] {
        let pixels = EffectPixels(image)
        return (0..<pixels.height).flatMap { y in (0..<pixels.width).map { x in [x, y] } }
            .filter { pixels[$0[0], $0[1]] != [255, 255, 255, 255] }
    }

    @Test(arguments: [
        (0.0, 0.0, 0..<4, 0..<3), (6, 5, 6..<10, 5..<8), (8, 6, 8..<10, 6..<8), (-2, -1, 0..<2, 0..<2),
    ]) func isPlacedAtItsOffset(x: Double, y: Double, columns: Range<Int>, rows: Range<Int>) throws {
        let result = try white.image().blended(with: red.image(), x: x, y: y)
        #expect(changed(result) == rows.flatMap { y in columns.map { [$0, y] } })
    }

    @Test(arguments: [(10.0, 0.0), (0, 8), (-4, 0), (0, -3), (1e30, -1e30)])
    func changesNothingOutside(x: Double, y: Double) throws {
        #expect(changed(try white.image().blended(with: red.image(), x: x, y: y, mode: .clear)).isEmpty)
    }

    @Test func offsetsAreInPoints() throws {
        let result = try white.image(scale: 2).blended(with: red.image(), x: 1.5, y: 0.5)
        #expect(changed(result).first == [3, 1])
    }

    @Test func multipliesOpacity() throws {
        let result = try white.image().blended(with: red.image(), opacity: 0.4)
        #expect(EffectPixels(result)[0, 0] == [255, 153, 153, 255])
    }

    @Test(arguments: [-0.1, 1.1, .nan, .infinity]) func rejectsInvalidOpacities(opacity: Double) throws {
        let processor = ImageProcessor.blend(try red.image(), id: "red", opacity: opacity)
        #expect(
            throws: WebImageError.processing(
                identifier: processor.identifier.description,
                reason: .invalidParameter(name: "opacity", value: "\(opacity)"))
        ) { try processor.process(try white.image(), cancellation: nil) }
    }

    @Test(arguments: [Double.nan, .infinity]) func rejectsInvalidOffsets(offset: Double) throws {
        let (below, above) = (try white.image(), try red.image())
        #expect(throws: WebImageError.self) { try below.blended(with: above, x: offset) }
        #expect(throws: WebImageError.self) { try below.blended(with: above, y: -offset) }
    }

    @Test func identifierHasTheImageAndEveryParameter() throws {
        let (red, white) = (try red.image(), try white.image())
        var scaled = red
        scaled.scale = 2
        let processors: [ImageProcessor] = [
            .blend(red), .blend(white), .blend(scaled), .blend(red, id: "a"), .blend(red, id: "b"), .blend(red, x: 1),
            .blend(red, y: 1), .blend(red, mode: .multiply), .blend(red, opacity: 0.5),
        ]
        #expect(Set(processors.map(\.identifier)).count == processors.count)
        let again = try EffectPixels(width: 4, height: 3, pixel: [255, 0, 0, 255]).image()
        #expect(ImageProcessor.blend(again, x: -0.0).identifier == processors[0].identifier)
        // The same number of bytes in another shape.
        let turned = try EffectPixels(width: 3, height: 4, pixel: [255, 0, 0, 255]).image()
        #expect(ImageProcessor.blend(turned).identifier != processors[0].identifier)
    }

    @Test func stopsWhenCancelled() throws {
        let cancellation = Cancellation()
        cancellation.cancel()
        let (below, above) = (try white.image(), try red.image())
        #expect(throws: WebImageError.cancelled) { try below.blended(with: above, cancellation: cancellation) }
    }
}

@Suite(.timeLimit(.minutes(3))) struct OverlayTests {
    private let white = EffectPixels(width: 20, height: 16, pixel: [255, 255, 255, 255])
    private let red = EffectPixels(width: 4, height: 2, pixel: [255, 0, 0, 255])

    /// The rectangle that is not white.
    private func place(_ image: Image) -> [Range<Int>] {
        let pixels = EffectPixels(image)
        let columns = (0..<pixels.width).filter { x in (0..<pixels.height).contains { pixels[x, $0][1] != 255 } }
        let rows = (0..<pixels.height).filter { y in (0..<pixels.width).contains { pixels[$0, y][1] != 255 } }
        return [columns, rows].map { ($0.first ?? 0)..<($0.last ?? -1) + 1 }
    }

    @Test(arguments: [
        (ImageContentMode.topLeft, [3..<7, 3..<5]), (.top, [8..<12, 3..<5]), (.topRight, [13..<17, 3..<5]),
        (.left, [3..<7, 7..<9]), (.center, [8..<12, 7..<9]), (.right, [13..<17, 7..<9]),
        (.bottomLeft, [3..<7, 11..<13]), (.bottom, [8..<12, 11..<13]), (.bottomRight, [13..<17, 11..<13]),
    ]) func isPlacedAtItsPosition(position: ImageContentMode, expected: [Range<Int>]) throws {
        let result = try white.image().overlaid(with: red.image(), at: position, margin: 3)
        #expect(place(result) == expected)
    }

    @Test func keepsItsSizeInPoints() throws {
        let result = try white.image(scale: 2).overlaid(with: red.image(), at: .topLeft, margin: 1)
        #expect(place(result) == [2..<10, 2..<6])
        let dense = try white.image().overlaid(with: red.image(scale: 2), at: .topLeft, margin: 0)
        #expect(place(dense) == [0..<2, 0..<1])
    }

    @Test func isScaled() throws {
        let result = try white.image().overlaid(with: red.image(), at: .bottomRight, margin: 0, scale: 3)
        #expect(place(result) == [8..<20, 10..<16])
    }

    @Test func isCroppedAtTheEdges() throws {
        let result = try white.image().overlaid(with: red.image(), at: .topLeft, margin: -1, scale: 20)
        #expect(place(result) == [0..<20, 0..<16])
    }

    @Test(arguments: [0, -1, .nan, .infinity, 1e9]) func rejectsInvalidScales(scale: Double) throws {
        let (below, above) = (try white.image(), try red.image())
        let identifier = ImageProcessor.overlay(above, id: "", scale: scale).identifier.description
        do {
            _ = try below.overlaid(with: above, scale: scale)
            Issue.record("no error")
        } catch .processing(let found, .invalidParameter(let name, let value), _) {
            #expect(name == "scale")
            #expect(value == "\(scale)")
            #expect(found == identifier)
        }
    }

    @Test(arguments: [0, -1, Double.nan, .infinity, 1e-300]) func survivesImagesWithInvalidScales(scale: Double) throws
    {
        let (below, above) = (try white.image(scale: scale), try red.image(scale: scale))
        // The two scales may cancel out or not; nothing crashes.
        _ = try? below.overlaid(with: red.image())
        _ = try? white.image().overlaid(with: above)
        _ = try? below.overlaid(with: above)
        #expect(try below.blended(with: above, x: 1, y: 1).pixels.size == below.pixels.size)
        #expect(try below.blurred(radius: 3).pixels.size == below.pixels.size)
    }

    @Test func rejectsInvalidMarginsAndOpacities() throws {
        let (below, above) = (try white.image(), try red.image())
        #expect(throws: WebImageError.self) { try below.overlaid(with: above, margin: .nan) }
        #expect(throws: WebImageError.self) { try below.overlaid(with: above, opacity: 2) }
    }

    @Test func identifierHasEveryParameter() throws {
        let red = try red.image()
        let processors: [ImageProcessor] = [
            .overlay(red), .overlay(red, id: "a"), .overlay(red, at: .top), .overlay(red, margin: 1),
            .overlay(red, opacity: 0.5), .overlay(red, scale: 2),
        ]
        #expect(Set(processors.map(\.identifier)).count == processors.count)
    }

    /// Names and scales that look alike when concatenated.
    @Test func identifierSeparatesNameAndScale() throws {
        let inputs: [(id: String, scale: Double)] = [("x", 1e-10), ("x-1e", 10), ("x", -1), ("x-", 1)]
        let identifiers = try inputs.map { input in
            ImageProcessor.overlay(try red.image(scale: input.scale), id: input.id).identifier.description
        }
        #expect(Set(identifiers).count == inputs.count)
    }
}

@Suite(.timeLimit(.minutes(3))) struct MaskTests {
    private let input = EffectPixels(noise: 33, 21, seed: 1)

    @Test func keepsPixelsWhereTheMaskIsWhiteOrOpaque() throws {
        let white = try EffectPixels(width: 1, height: 1, pixel: [255, 255, 255, 255]).image()
        let black = try EffectPixels(width: 1, height: 1, pixel: [0, 0, 0, 255]).image()
        let image = try input.image()
        #expect(EffectPixels(try image.masked(by: white)) == input)
        #expect(EffectPixels(try image.masked(by: black, usesAlpha: true)) == input)
        #expect(EffectPixels(try image.masked(by: black)).bytes.allSatisfy { $0 == 0 })
    }

    @Test(arguments: [false, true]) func multipliesByTheMask(usesAlpha: Bool) throws {
        let mask = EffectPixels(noise: 33, 21, seed: 2)
        let result = EffectPixels(try input.image().masked(by: mask.image(), usesAlpha: usesAlpha))
        for index in stride(from: 0, to: mask.bytes.count, by: 4) {
            let (red, green, blue) = (mask.bytes[index], mask.bytes[index + 1], mask.bytes[index + 2])
            let luma = 0.2126 * Double(red) + 0.7152 * Double(green) + 0.0722 * Double(blue)
            let share = (usesAlpha ? Double(mask.bytes[index + 3]) : luma) / 255
            for byte in index..<index + 4 {
                #expect(abs(Double(result.bytes[byte]) - Double(input.bytes[byte]) * share) <= 1.6)
            }
        }
    }

    @Test func stretchesTheMask() throws {
        let halves = EffectPixels(width: 2, height: 1, bytes: [255, 255, 255, 255, 0, 0, 0, 255])
        let white = EffectPixels(width: 100, height: 10, pixel: [255, 255, 255, 255])
        let result = EffectPixels(try white.image().masked(by: halves.image()))
        #expect(result[5, 5] == [255, 255, 255, 255])
        #expect(result[95, 5] == [0, 0, 0, 0])
    }

    @Test func identifierHasTheMask() throws {
        let (one, other) = (try input.image(), try EffectPixels(noise: 33, 21, seed: 3).image())
        let processors: [ImageProcessor] = [.mask(one), .mask(other), .mask(one, usesAlpha: true)]
        #expect(Set(processors.map(\.identifier)).count == processors.count)
    }
}

@Suite(.timeLimit(.minutes(3))) struct TintTests {
    private let orange = Color(red: 1, green: 0.6, blue: 0.2)

    @Test func fillsTheShapeWithTheColor() throws {
        let ramp = EffectPixels(width: 256, height: 1, bytes: (0..<256).flatMap { [0, 0, 0, UInt8($0)] })
        let result = EffectPixels(try ramp.image().tinted(orange))
        for alpha in 0..<256 {
            let expected = [1, 0.6, 0.2, 1].map { Int(($0 * Double(alpha)).rounded()) }
            #expect(zip(result[alpha, 0], expected).allSatisfy { abs(Int($0) - $1) <= 1 })
            #expect(Int(result[alpha, 0][3]) == alpha)
        }
    }

    @Test func blendsAColorInOtherModes() throws {
        let gray = try EffectPixels(width: 5, height: 5, pixel: [128, 128, 128, 255]).image()
        #expect(EffectPixels(try gray.tinted(orange, mode: .multiply))[2, 2] == [128, 77, 26, 255])
        let half = Color(red: 1, green: 1, blue: 1, alpha: 0.5)
        #expect(EffectPixels(try gray.tinted(half, mode: .sourceOver))[2, 2] == [192, 192, 192, 255])
    }

    @Test(arguments: [Double.infinity, -.infinity, .nan]) func rejectsInvalidColors(component: Double) throws {
        let image = try EffectPixels(width: 1, height: 1, pixel: [0, 0, 0, 255]).image()
        #expect(throws: WebImageError.self) { try image.tinted(Color(red: 0, green: component, blue: 0)) }
        #expect(throws: WebImageError.self) { try image.tinted(Color(red: 0, green: 0, blue: 0, alpha: component)) }
    }

    @Test func clampsComponents() throws {
        let gray = try EffectPixels(width: 2, height: 2, pixel: [128, 128, 128, 255]).image()
        let color = Color(red: 7, green: -3, blue: 0.2, alpha: 2)
        #expect(EffectPixels(try gray.tinted(color))[0, 0] == [255, 0, 51, 255])
    }

    @Test func identifierHasColorAndMode() {
        let processors: [ImageProcessor] = [
            .tint(orange), .tint(.black), .tint(.clear), .tint(orange, mode: .color),
        ]
        #expect(Set(processors.map(\.identifier)).count == processors.count)
    }
}
