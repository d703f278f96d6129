import Testing
import WebImageCore
import WebImageProcessing

@Suite struct OverlayTests {
    private let white = EffectPixels(width: 20, height: 16, pixel: [255, 255, 255, 255])
    private let red = EffectPixels(width: 4, height: 2, pixel: [255, 0, 0, 255])

    /// Columns and rows of the rectangle that is no longer white.
    private func place(_ image: Image) -> [Range<Int>] {
        let pixels = EffectPixels(image)
        let columns = (0..<pixels.width).filter { x in (0..<pixels.height).contains { pixels[x, $0][1] != 255 } }
        let rows = (0..<pixels.height).filter { y in (0..<pixels.width).contains { pixels[$0, y][1] != 255 } }
        return [columns, rows].map { ($0.first ?? 0)..<($0.last ?? -1) + 1 }
    }

    @Test(arguments: [
        (OverlayPosition.topLeft, [3..<7, 3..<5]), (.top, [8..<12, 3..<5]), (.topRight, [13..<17, 3..<5]),
        (.left, [3..<7, 7..<9]), (.center, [8..<12, 7..<9]), (.right, [13..<17, 7..<9]),
        (.bottomLeft, [3..<7, 11..<13]), (.bottom, [8..<12, 11..<13]), (.bottomRight, [13..<17, 11..<13]),
    ]) func liesAtItsPosition(position: OverlayPosition, expected: [Range<Int>]) throws {
        let result = try white.image().overlaid(with: red.image(), at: position, margin: 3)
        #expect(place(result) == expected)
    }

    @Test func isAsLargeInPointsAsByItself() throws {
        let result = try white.image(scale: 2).overlaid(with: red.image(), at: .topLeft, margin: 1)
        #expect(place(result) == [2..<10, 2..<6])
        let dense = try white.image().overlaid(with: red.image(scale: 2), at: .topLeft, margin: 0)
        #expect(place(dense) == [0..<2, 0..<1])
    }

    @Test func isScaled() throws {
        let result = try white.image().overlaid(with: red.image(), at: .bottomRight, margin: 0, scale: 3)
        #expect(place(result) == [8..<20, 10..<16])
    }

    @Test func isCutAtTheEdges() throws {
        let result = try white.image().overlaid(with: red.image(), at: .topLeft, margin: -1, scale: 20)
        #expect(place(result) == [0..<20, 0..<16])
    }

    @Test(arguments: [0, -1, .nan, .infinity, 1e9]) func refusesAScaleThatIsNone(scale: Double) throws {
        let (below, above) = (try white.image(), try red.image())
        let identifier = ImageProcessors.Overlay(above, id: "", scale: scale).identifier.description
        do {
            _ = try below.overlaid(with: above, scale: scale)
            Issue.record("no error")
        } catch .processing(let found, .invalidParameter(let name, let value)) {
            #expect(name == "scale")
            #expect(value == "\(scale)")
            #expect(found == identifier)
        }
    }

    @Test(arguments: [0, -1, Double.nan, .infinity, 1e-300]) func survivesPicturesWithoutAScale(scale: Double) throws {
        let (below, above) = (try white.image(scale: scale), try red.image(scale: scale))
        // The two scales may cancel out or not; nothing crashes.
        _ = try? below.overlaid(with: red.image())
        _ = try? white.image().overlaid(with: above)
        _ = try? below.overlaid(with: above)
        #expect(try below.blended(with: above, x: 1, y: 1).pixels.size == below.pixels.size)
        #expect(try below.blurred(radius: 3).pixels.size == below.pixels.size)
    }

    @Test func refusesMarginsAndOpacitiesThatAreNone() throws {
        let (below, above) = (try white.image(), try red.image())
        #expect(throws: WebImageError.self) { try below.overlaid(with: above, margin: .nan) }
        #expect(throws: WebImageError.self) { try below.overlaid(with: above, opacity: 2) }
    }

    @Test func isKnownByEveryParameter() throws {
        let red = try red.image()
        let processors: [ImageProcessors.Overlay] = [
            .overlay(red), .overlay(red, id: "a"), .overlay(red, at: .top), .overlay(red, margin: 1),
            .overlay(red, opacity: 0.5), .overlay(red, scale: 2),
        ]
        #expect(Set(processors.map(\.identifier)).count == processors.count)
    }

    /// Names and scales that look like each other's when written side by side.
    @Test func nameAndScaleAreToldApart() throws {
        let pictures: [(id: String, scale: Double)] = [("x", 1e-10), ("x-1e", 10), ("x", -1), ("x-", 1)]
        let identifiers = try pictures.map { picture in
            ImageProcessors.Overlay(try red.image(scale: picture.scale), id: picture.id).identifier.description
        }
        #expect(Set(identifiers).count == pictures.count)
    }
}
