import Testing
import WebImageCore
import WebImageProcessing

@Suite struct BlendTests {
    private let white = EffectPixels(width: 10, height: 8, pixel: [255, 255, 255, 255])
    private let red = EffectPixels(width: 4, height: 3, pixel: [255, 0, 0, 255])

    /// Which pixels are no longer white.
    private func changed(_ image: Image) -> [[Int]] {
        let pixels = EffectPixels(image)
        return (0..<pixels.height).flatMap { y in (0..<pixels.width).map { x in [x, y] } }
            .filter { pixels[$0[0], $0[1]] != [255, 255, 255, 255] }
    }

    @Test(arguments: [
        (0.0, 0.0, 0..<4, 0..<3), (6, 5, 6..<10, 5..<8), (8, 6, 8..<10, 6..<8), (-2, -1, 0..<2, 0..<2),
    ]) func liesAtItsOffset(x: Double, y: Double, columns: Range<Int>, rows: Range<Int>) throws {
        let result = try white.image().blended(with: red.image(), x: x, y: y)
        #expect(changed(result) == rows.flatMap { y in columns.map { [$0, y] } })
    }

    @Test(arguments: [(10.0, 0.0), (0, 8), (-4, 0), (0, -3), (1e30, -1e30)])
    func changesNothingFromOutside(x: Double, y: Double) throws {
        #expect(changed(try white.image().blended(with: red.image(), x: x, y: y, mode: .clear)).isEmpty)
    }

    @Test func countsOffsetsInPoints() throws {
        let result = try white.image(scale: 2).blended(with: red.image(), x: 1.5, y: 0.5)
        #expect(changed(result).first == [3, 1])
    }

    @Test func takesOpacityOfTheSource() throws {
        let result = try white.image().blended(with: red.image(), opacity: 0.4)
        #expect(EffectPixels(result)[0, 0] == [255, 153, 153, 255])
    }

    @Test(arguments: [-0.1, 1.1, .nan, .infinity]) func refusesAnOpacityThatIsNone(opacity: Double) throws {
        let processor = ImageProcessors.Blend(try red.image(), id: "red", opacity: opacity)
        #expect(
            throws: WebImageError.processing(
                identifier: processor.identifier.description,
                reason: .invalidParameter(name: "opacity", value: "\(opacity)"))
        ) { try processor.process(try white.image(), cancellation: nil) }
    }

    @Test(arguments: [Double.nan, .infinity]) func refusesAnOffsetThatIsNone(offset: Double) throws {
        let (below, above) = (try white.image(), try red.image())
        #expect(throws: WebImageError.self) { try below.blended(with: above, x: offset) }
        #expect(throws: WebImageError.self) { try below.blended(with: above, y: -offset) }
    }

    @Test func isKnownByItsPictureAndEveryParameter() throws {
        let (red, white) = (try red.image(), try white.image())
        var scaled = red
        scaled.scale = 2
        let processors: [ImageProcessors.Blend] = [
            .blend(red), .blend(white), .blend(scaled), .blend(red, id: "a"), .blend(red, id: "b"), .blend(red, x: 1),
            .blend(red, y: 1), .blend(red, mode: .multiply), .blend(red, opacity: 0.5),
        ]
        #expect(Set(processors.map(\.identifier)).count == processors.count)
        let again = try EffectPixels(width: 4, height: 3, pixel: [255, 0, 0, 255]).image()
        #expect(ImageProcessors.Blend(again, x: -0.0).identifier == processors[0].identifier)
        // As many bytes, another shape.
        let turned = try EffectPixels(width: 3, height: 4, pixel: [255, 0, 0, 255]).image()
        #expect(ImageProcessors.Blend(turned).identifier != processors[0].identifier)
    }

    @Test func stopsWhenCancelled() throws {
        let cancellation = Cancellation()
        cancellation.cancel()
        let (below, above) = (try white.image(), try red.image())
        #expect(throws: WebImageError.cancelled) { try below.blended(with: above, cancellation: cancellation) }
    }
}
