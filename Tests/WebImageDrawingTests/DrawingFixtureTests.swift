import Foundation
import Testing
import WebImageCore
import WebImageProcessing

@testable import WebImageDrawing

/// The same drawings as in Tests/Fixtures/drawing_fixtures.py, where Python calls cairo.
@Suite(.timeLimit(.minutes(3))) struct DrawingFixtureTests {
    private let colors = [
        Color(red: 1, green: 0.5, blue: 0.25), Color(red: 0.2, green: 0.8, blue: 0.4, alpha: 0.6),
        Color(red: 0.5, green: 0.5, blue: 0.5, alpha: 0.5), .clear, Color(red: 0.1, green: 0.2, blue: 0.9),
    ]

    @Test func blendModesMatchCairo() throws {
        #expect(BlendMode.allCases.count == 28)
        let image = try Image(size: PointSize(width: 25, height: 28)) { context in
            for (y, mode) in BlendMode.allCases.enumerated() {
                for x in 0..<25 {
                    context.withSavedState {
                        context.clip(to: Path(PointRect(x: Double(x), y: Double(y), width: 1, height: 1)))
                        context.fill(with: .color(colors[x / 5]))
                        context.fill(with: .color(colors[x % 5]), mode: mode)
                    }
                }
            }
        }
        try expect(image, isLike: "blending", within: 1)
    }

    @Test func shapesMatchCairo() throws {
        let image = try Image(size: PointSize(width: 48, height: 32), scale: 2) { context in
            gradientAndRectangles(context)
            arc(context)
            lines(context)
            glow(context)
        }
        // cairo draws curves as lines up to a tenth of a pixel off, and converts arcs to other curves.
        try expect(image, isLike: "shapes", within: 10)
    }

    private func gradientAndRectangles(_ context: borrowing DrawingContext) {
        let stops: [(Double, Color)] = [
            (0, Color(red: 1, green: 0.8, blue: 0.2)),
            (0.4, Color(red: 0.9, green: 0.1, blue: 0.5, alpha: 0.8)),
            (1, Color(red: 0.1, green: 0.2, blue: 0.6, alpha: 0.3)),
        ]
        context.fill(with: .linearGradient(from: Point(x: 0, y: 0), to: Point(x: 48, y: 32), stops: stops))
        context.withSavedState {
            context.translate(x: 12, y: 10)
            context.rotate(degrees: 30)
            context.scale(x: 1.5, y: 0.75)
            var path = Path(PointRect(x: -5, y: -4, width: 10, height: 8))
            path.append(Path(PointRect(x: -2, y: -2, width: 4, height: 4)))
            let color = Color(red: 0, green: 0.3, blue: 0.7, alpha: 0.75)
            context.fill(path, with: .color(color), isEvenOdd: true)
        }
    }

    private func arc(_ context: borrowing DrawingContext) {
        var path = Path()
        path.arc(center: Point(x: 34, y: 10), radius: 7.3, from: .degrees(20), to: .degrees(300))
        path.close()
        context.fill(path, with: .color(.white))
        context.stroke(
            path, with: .color(Color(red: 0.1, green: 0.1, blue: 0.1)), width: 1.25, join: .round)
    }

    private func lines(_ context: borrowing DrawingContext) {
        var path = Path()
        path.move(to: Point(x: 3, y: 28))
        path.curve(to: Point(x: 30, y: 22), control1: Point(x: 12, y: 12), control2: Point(x: 20, y: 40))
        path.line(to: Point(x: 26, y: 30))
        context.stroke(
            path, with: .color(Color(red: 0.2, green: 0.5, blue: 0.1)),
            width: 2.5, cap: .square, miterLimit: 4)

        var line = Path()
        line.move(to: Point(x: 32, y: 20.5))
        line.line(to: Point(x: 47, y: 31))
        context.stroke(
            line, with: .color(Color(red: 0.6, green: 0, blue: 0.6, alpha: 0.9)),
            width: 1.5, cap: .round, dashes: [3, 2.5], dashPhase: 1)
    }

    private func glow(_ context: borrowing DrawingContext) {
        let center = Point(x: 40, y: 26)
        let stops: [(Double, Color)] = [(0, .white), (1, Color(red: 1, green: 0.5, blue: 0, alpha: 0))]
        context.withSavedState {
            context.clip(to: Path(circleAround: center, radius: 5))
            context.fill(
                with: .radialGradient(center: center, innerRadius: 1, outerRadius: 5, stops: stops), mode: .screen)
        }
    }

    private func expect(_ image: Image, isLike name: String, within tolerance: Int) throws {
        let url = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Fixtures/drawing/\(name).rgba")
        let expected = [UInt8](try Data(contentsOf: url))
        let width = Int(expected[0]) | Int(expected[1]) << 8
        let height = Int(expected[4]) | Int(expected[5]) << 8
        try #require(image.pixels.size == PixelSize(width: width, height: height))
        for (offset, (ours, theirs)) in zip(bytes(of: image), expected.dropFirst(8)).enumerated()
        where abs(Int(ours) - Int(theirs)) > tolerance {
            Issue.record("pixel (\(offset / 4 % width), \(offset / 4 / width)): \(ours), not \(theirs)")
        }
    }
}
