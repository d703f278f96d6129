import WebImageCore
import WebImageDrawing

/// A lake before mountains at sunset: the picture that the page of processed pictures begins with.
enum Landscape {
    static let size = PointSize(width: 180, height: 120)

    static func image() throws -> Image {
        try Image(size: size, isOpaque: true) { context in
            sky(context)
            mountains(context, peaks: [(0, 52), (28, 30), (52, 46), (86, 20), (118, 44), (146, 26), (180, 50)], haze)
            mountains(context, peaks: [(0, 66), (40, 48), (74, 62), (112, 46), (150, 64), (180, 56)], slopes)
            lake(context)
            tree(context, x: 24, base: 104, height: 46)
            tree(context, x: 40, base: 108, height: 30)
        }
    }

    private static let haze = Color(red: 0.48, green: 0.42, blue: 0.58)
    private static let slopes = Color(red: 0.2, green: 0.24, blue: 0.38)
    private static let glow = Color(red: 1, green: 0.85, blue: 0.45)

    private static func sky(_ context: borrowing DrawingContext) {
        let stops = [
            GradientStop(0, Color(red: 0.16, green: 0.3, blue: 0.62)),
            GradientStop(0.5, Color(red: 0.95, green: 0.55, blue: 0.4)), GradientStop(1, glow),
        ]
        context.fill(with: .linearGradient(from: Point(x: 0, y: 0), to: Point(x: 0, y: 80), stops: stops))
        let sun = Point(x: 128, y: 40)
        let clear = Color(red: 1, green: 0.9, blue: 0.6, alpha: 0)
        let light = [GradientStop(0, .white), GradientStop(0.25, glow), GradientStop(1, clear)]
        context.fill(with: .radialGradient(center: sun, innerRadius: 6, outerRadius: 50, stops: light))
    }

    private static func mountains(_ context: borrowing DrawingContext, peaks: [(Double, Double)], _ color: Color) {
        let line = peaks.map { Point(x: $0.0, y: $0.1) }
        context.fill(Path(polygon: line + [Point(x: 180, y: 84), Point(x: 0, y: 84)]), with: .color(color))
    }

    private static func lake(_ context: borrowing DrawingContext) {
        let stops = [
            GradientStop(0, Color(red: 0.75, green: 0.5, blue: 0.5)),
            GradientStop(1, Color(red: 0.1, green: 0.2, blue: 0.4)),
        ]
        context.withSavedState {
            context.clip(to: Path(PointRect(x: 0, y: 76, width: 180, height: 44)))
            context.fill(with: .linearGradient(from: Point(x: 0, y: 76), to: Point(x: 0, y: 120), stops: stops))
            for index in 0..<9 {
                var wave = Path()
                let (y, reach) = (80 + Double(index) * 4.5, 10 + Double(index) * 2)
                wave.move(to: Point(x: 128 - reach, y: y))
                wave.line(to: Point(x: 128 + reach, y: y))
                let shine = Color(red: 1, green: 0.9, blue: 0.6, alpha: 0.55)
                context.stroke(
                    wave, with: .color(shine), style: StrokeStyle(width: 1.2, cap: .round, dashes: [7, 4, 12, 3]))
            }
        }
    }

    private static func tree(_ context: borrowing DrawingContext, x: Double, base: Double, height: Double) {
        for layer in 0..<3 {
            let top = base - height + Double(layer) * height / 5
            let half = height / 8 * (1 + Double(layer) * 0.6)
            let green = Color(red: 0.06, green: 0.2 + 0.05 * Double(layer), blue: 0.16)
            let points = [
                Point(x: x, y: top), Point(x: x + half, y: top + height / 2), Point(x: x - half, y: top + height / 2),
            ]
            context.fill(Path(polygon: points), with: .color(green))
        }
        let trunk = PointRect(x: x - 1.5, y: base - height / 8, width: 3, height: height / 8)
        context.fill(Path(trunk), with: .color(Color(red: 0.25, green: 0.15, blue: 0.1)))
    }
}
