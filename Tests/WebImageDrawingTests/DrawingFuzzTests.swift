import Testing
import WebImageCore
import WebImageDrawing
import WebImageProcessing
import WebImageTestSupport

/// Drawings with numbers of every kind: a picture or an error, never a crash, and not for ever.
@Suite struct DrawingFuzzTests {
    @Test func noNumbersCrash() throws {
        var random = SplitMix64(seed: 11)
        var (drawn, failed) = (0, 0)
        for _ in 0..<1_500 {
            let plan = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                Step(kind: Int.random(in: 0..<12, using: &random), numbers: (0..<8).map { _ in number(&random) })
            }
            let scales: [Double] = [1, 2, 0.3, 1e-9, 1e4]
            let scale = scales.randomElement(using: &random) ?? 1
            let size = PointSize(width: 20 / scale, height: 10 / scale)
            do {
                let image = try Image(size: size, scale: scale) { context in
                    for step in plan { draw(step, context) }
                }
                drawn += 1
                #expect(image.pixels.size == PixelSize(width: 20, height: 10))
            } catch {
                failed += 1
            }
        }
        #expect(drawn > 100 && failed > 100)
        // No size that a font does not have has been tried on one, which would be of no use afterwards.
        let text = try Image(text: StyledText("Ab 😀", font: Font(size: 20)))
        #expect(coverage(of: text) > 100)
    }

    @Test func tinyDashesAlongALongLineAreDrawn() throws {
        var line = Path()
        line.move(to: Point(x: -4e6, y: -4e6))
        line.line(to: Point(x: 4e6, y: 4e6))
        for dash in [1e-300, 1e-6, 0.3] {
            let image = try Image(size: PointSize(width: 9, height: 9)) {
                $0.stroke(line, with: .color(.black), style: StrokeStyle(width: 3, dashes: [dash]))
            }
            #expect(coverage(of: image) > 0)
        }
    }

    private struct Step {
        let kind: Int
        let numbers: [Double]
    }

    private func number(_ random: inout SplitMix64) -> Double {
        let odd: [Double] = [0, -0.0, 1, -1, 0.5, 1e-9, 1e-300, 4e6, -4e6, 1e9, 1e300, .infinity, -.infinity, .nan]
        return Bool.random(using: &random)
            ? Double.random(in: -30...30, using: &random)
            : Bool.random(using: &random) ? 3 : odd.randomElement(using: &random) ?? 0
    }

    private func draw(_ step: Step, _ context: borrowing DrawingContext) {
        let n = step.numbers
        let rect = PointRect(x: n[0], y: n[1], width: n[2], height: n[3])
        let color = Color(red: n[4], green: 0.5, blue: 1, alpha: 0.5)
        let mode = BlendMode.allCases[Int(exactly: abs(n[7]).rounded()).map { $0 % 28 } ?? 0]
        switch step.kind {
        case 0: context.fill(Path(rect, cornerRadius: n[6]), with: .color(color), mode: mode)
        case 1:
            context.stroke(
                Path(ellipseIn: rect), with: .color(.black), style: StrokeStyle(width: n[6], dashes: [n[5], n[7]]))
        case 2: context.clip(to: Path(rect))
        case 3: context.translate(x: n[0], y: n[1])
        case 4: context.scale(x: n[2], y: n[3])
        case 5: context.rotate(by: .radians(n[0]))
        case 6: context.draw(StyledText("Ab 😀", font: Font(size: n[6])), at: Point(x: n[0], y: n[1]))
        case 7: context.draw(StyledText("Ab cd", font: Font(size: 9), wrappingWidth: n[2]), at: Point(x: n[0], y: n[1]))
        case 8:
            let stops = [GradientStop(n[4], .black), GradientStop(n[5], .white)]
            context.fill(
                with: .linearGradient(from: Point(x: n[0], y: n[1]), to: Point(x: n[2], y: n[3]), stops: stops))
        case 9:
            let stops = [GradientStop(0, .black), GradientStop(1, .white)]
            context.fill(
                with: .radialGradient(
                    center: Point(x: n[0], y: n[1]), innerRadius: n[2], outerRadius: n[3], stops: stops))
        case 10:
            var path = Path()
            path.arc(
                center: Point(x: n[0], y: n[1]), radius: n[2], from: .radians(n[3]), to: .radians(n[4]),
                isClockwise: n[5] > 0)
            path.quadraticCurve(to: Point(x: n[6], y: n[7]), control: Point(x: 3, y: 3))
            context.fill(path, with: .color(.black), rule: .evenOdd, mode: mode)
        default:
            if let picture = try? Image(size: PointSize(width: 3, height: 2), draw: { $0.fill(with: .color(.white)) }) {
                context.draw(picture, in: rect, mode: mode, alpha: n[6])
            }
        }
    }
}
