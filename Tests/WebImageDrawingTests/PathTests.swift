import Testing
import WebImageCore
import WebImageProcessing

@testable import WebImageDrawing

@Suite(.timeLimit(.minutes(3))) struct PathTests {
    @Test func hasACurrentPoint() {
        var path = Path()
        #expect(path.isEmpty && path.currentPoint == nil)
        path.close()
        #expect(path.isEmpty)
        path.line(to: Point(x: 1, y: 2))
        #expect(path.elements == [.move(to: Point(x: 1, y: 2))])
        path.line(to: Point(x: 5, y: 2))
        path.quadraticCurve(to: Point(x: 8, y: 5), control: Point(x: 8, y: 2))
        #expect(path.currentPoint == Point(x: 8, y: 5))
        path.close()
        #expect(path.currentPoint == Point(x: 1, y: 2))
    }

    @Test(arguments: [
        (90.0, true, 0.25), (270, true, 0.75), (-90, true, 0.75), (90, false, 0.75), (360, true, 1), (9e9, false, 1),
    ])
    func arcsHaveTheirArea(end: Double, isClockwise: Bool, part: Double) throws {
        var path = Path()
        path.move(to: Point(x: 50, y: 50))
        path.arc(
            center: Point(x: 50, y: 50), radius: 40, from: .degrees(0), to: .degrees(end), isClockwise: isClockwise)
        path.close()
        let image = try Image(size: PointSize(width: 100, height: 100)) { $0.fill(path, with: .color(.black)) }
        let area = coverage(of: image)
        #expect(abs(area - .pi * 40 * 40 * part) < 20, "\(area)")
    }

    @Test func anglesAreClockwise() throws {
        var path = Path()
        path.move(to: Point(x: 5, y: 5))
        path.arc(center: Point(x: 5, y: 5), radius: 5, from: .degrees(0), to: .degrees(90))
        let image = try Image(size: PointSize(width: 10, height: 10)) { $0.fill(path, with: .color(.black)) }
        #expect(image.pixels[6, 6].w == 255 && image.pixels[6, 3].w == 0 && image.pixels[3, 6].w == 0)
    }

    @Test func shapesHaveTheirArea() throws {
        let rect = PointRect(x: 10, y: 20, width: 60, height: 40)
        let shapes: [(Path, Double)] = [
            (Path(rect), 2400), (Path(ellipseIn: rect), .pi * 30 * 20),
            (Path(rect, cornerRadius: 10), 2400 - (4 - .pi) * 100), (Path(rect, cornerRadius: 0), 2400),
            (Path(rect, cornerRadius: -5), 2400), (Path(rect, cornerRadius: 1e9), 20 * 40 + .pi * 400),
            (Path(circleAround: Point(x: 50, y: 50), radius: 30), .pi * 900),
            (Path(polygon: [Point(x: 0, y: 0), Point(x: 80, y: 0), Point(x: 0, y: 60)]), 2400),
            (Path(PointRect(x: 70, y: 60, width: -60, height: -40), cornerRadius: 10), 2400 - (4 - .pi) * 100),
        ]
        for (index, (path, area)) in shapes.enumerated() {
            let image = try Image(size: PointSize(width: 100, height: 100)) { $0.fill(path, with: .color(.black)) }
            #expect(abs(coverage(of: image) - area) < 15, "shape \(index)")
        }
    }

    @Test func identifiersDistinguishPaths() {
        let paths = [
            Path(), Path(polygon: [Point(x: 1, y: 2)]), Path(polygon: [Point(x: 12, y: 0)]),
            Path(polygon: [Point(x: 1, y: 20)]), Path(PointRect(x: 0, y: 0, width: 1, height: 1e-9)),
            Path(PointRect(x: 0, y: 0, width: 1, height: -1)),
            Path(ellipseIn: PointRect(x: 0, y: 0, width: 1, height: 1)),
        ]
        let texts = paths.map(\.identifierValue.description)
        #expect(Set(texts).count == paths.count)
        #expect(texts[1] == "M1_2Z")
        #expect(texts.allSatisfy { !$0.contains { ",:()|[]#&".contains($0) } })
    }
}

/// The number of covered pixels.
func coverage(of image: Image) -> Double {
    (0..<image.height).reduce(0) { sum, y in
        (0..<image.width).reduce(sum) { $0 + Double(image.pixels[$1, y].w) / 255 }
    }
}
