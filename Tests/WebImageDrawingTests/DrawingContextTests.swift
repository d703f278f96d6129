import Testing
@testable import WebImageCore
import WebImageProcessing
import WebImageTestSupport

@testable import WebImageDrawing

@Suite(.timeLimit(.minutes(3))) struct DrawingContextTests {
    private let red = Color(red: 1, green: 0, blue: 0)
    private let blue = Color(red: 0, green: 0, blue: 1)

    @Test func keepsChannelsApart() throws {
        let color = Color(red: 1, green: 0.6, blue: 0.2, alpha: 0.8)
        let image = try Image(size: PointSize(width: 3, height: 2)) { context in
            context.fill(with: .color(color))
        }
        #expect(image.pixels[2, 1] == SIMD4(204, 122, 40, 204))
        #expect(!image.pixels.isOpaque && image.format == nil && image.scale == 1)
    }

    @Test func startsClearOrBlack() throws {
        let clear = try Image(size: PointSize(width: 1, height: 1)) { _ in }
        #expect(clear.pixels[0, 0] == .zero && !clear.pixels.isOpaque)
        let black = try Image(size: PointSize(width: 1, height: 1), isOpaque: true) { context in
            context.fill(with: .color(.clear), mode: .clear)
        }
        #expect(black.pixels[0, 0] == SIMD4(0, 0, 0, 255) && black.pixels.isOpaque)
    }

    @Test func knowsWhenEveryPixelIsOpaque() throws {
        let image = try Image(size: PointSize(width: 5, height: 4)) { $0.fill(with: .color(.white)) }
        #expect(image.pixels.isOpaque)
    }

    @Test func multipliesPointsByTheScale() throws {
        let image = try Image(size: PointSize(width: 10.2, height: 100), scale: 1.1) { context in
            #expect(context.scale == 1.1 && context.size == PointSize(width: 10.2, height: 100))
            context.fill(Path(PointRect(x: 0, y: 0, width: 10, height: 10)), with: .color(red))
        }
        #expect(image.pixels.size == PixelSize(width: 12, height: 110))
        #expect(image.pixels[10, 10] == SIMD4(255, 0, 0, 255) && image.pixels[11, 10] == .zero)
        #expect(image.pixels[10, 11] == .zero)
    }

    @Test func wholeNumbersArePixelEdges() throws {
        let image = try Image(size: PointSize(width: 4, height: 6)) { context in
            for y in [1.5, 4] {
                var line = Path()
                line.move(to: Point(x: 0, y: y))
                line.line(to: Point(x: 4, y: y))
                context.stroke(line, with: .color(.black))
            }
        }
        #expect((0..<6).map { image.pixels[2, $0].w } == [0, 255, 0, 128, 128, 0])
    }

    @Test func restoresSavedStates() throws {
        let image = try Image(size: PointSize(width: 8, height: 2)) { context in
            context.save()
            context.translate(x: 4, y: 0)
            context.scale(x: 2, y: 2)
            context.clip(to: Path(PointRect(x: 0, y: 0, width: 1, height: 1)))
            context.fill(with: .color(red))
            context.restore()
            context.withSavedState {
                context.translate(x: 2, y: 0)
                context.rotate(degrees: 90)
                context.fill(Path(PointRect(x: 0, y: 0, width: 2, height: 2)), with: .color(blue))
            }
            context.fill(Path(PointRect(x: 7, y: 0, width: 1, height: 2)), with: .color(.black))
        }
        let row = (0..<8).map { image.pixels[$0, 1] }
        let (r, b) = (SIMD4<UInt8>(255, 0, 0, 255), SIMD4<UInt8>(0, 0, 255, 255))
        #expect(row == [b, b, .zero, .zero, r, r, .zero, SIMD4(0, 0, 0, 255)])
    }

    @Test func fillRulesDiffer() throws {
        var path = Path(PointRect(x: 0, y: 0, width: 6, height: 6))
        path.append(Path(PointRect(x: 2, y: 2, width: 2, height: 2)))
        let winding = try Image(size: PointSize(width: 6, height: 6)) { $0.fill(path, with: .color(red)) }
        let evenOdd = try Image(size: PointSize(width: 6, height: 6)) {
            $0.fill(path, with: .color(red), isEvenOdd: true)
        }
        #expect(winding.pixels[3, 3].w == 255 && evenOdd.pixels[3, 3].w == 0 && evenOdd.pixels[1, 1].w == 255)
    }

    @Test func drawsGradients() throws {
        let stops: [(Double, Color)] = [(0, .black), (1, .white)]
        let image = try Image(size: PointSize(width: 256, height: 1)) { context in
            let end = Point(x: 256, y: 0)
            context.fill(with: .linearGradient(from: Point(x: 0, y: 0), to: end, stops: stops))
        }
        for x in 0..<256 { #expect(abs(Int(image.pixels[x, 0].x) - x) <= 1) }

        let disc = try Image(size: PointSize(width: 9, height: 9)) { context in
            context.fill(with: .radialGradient(center: Point(x: 4.5, y: 4.5), outerRadius: 4, stops: stops))
        }
        #expect(disc.pixels[4, 4].x < 20 && disc.pixels[0, 4].x == 255 && disc.pixels[8, 8].x == 255)
    }

    @Test func dashesLines() throws {
        var line = Path()
        line.move(to: Point(x: 0, y: 0.5))
        line.line(to: Point(x: 10, y: 0.5))
        let image = try Image(size: PointSize(width: 10, height: 1)) { context in
            context.stroke(line, with: .color(.black), dashes: [2, 1], dashPhase: 1)
        }
        #expect((0..<10).map { image.pixels[$0, 0].w > 0 } == [1, 0, 1, 1, 0, 1, 1, 0, 1, 1].map { $0 == 1 })
    }

    /// Half the width before the first point: the middle and a corner of the end.
    @Test(arguments: [(LineCap.butt, [false, false]), (.round, [true, false]), (.square, [true, true])])
    func linesEndAsTheirCapSays(cap: LineCap, isDrawn: [Bool]) throws {
        var line = Path()
        line.move(to: Point(x: 20, y: 5))
        line.line(to: Point(x: 40, y: 5))
        let image = try Image(size: PointSize(width: 60, height: 10)) { context in
            context.stroke(line, with: .color(.black), width: 10, cap: cap)
        }
        #expect([5, 0].map { image.pixels[15, $0].w > 200 } == isDrawn)
        #expect(image.pixels[14, 5].w == 0 && image.pixels[20, 0].w == 255)
        guard cap == .butt else { return }
        let standard = try Image(size: PointSize(width: 60, height: 10)) { context in
            context.stroke(line, with: .color(.black), width: 10)
        }
        #expect(bytes(of: standard) == bytes(of: image))
    }

    @Test func drawsImagesWithTheirColors() throws {
        let input = try Image(size: PointSize(width: 2, height: 1)) { context in
            context.fill(Path(PointRect(x: 0, y: 0, width: 1, height: 1)), with: .color(red))
            context.fill(
                Path(PointRect(x: 1, y: 0, width: 1, height: 1)),
                with: .color(Color(red: 0, green: 0.5, blue: 1, alpha: 0.5)))
        }
        let image = try Image(size: PointSize(width: 4, height: 2)) { context in
            context.draw(input, at: Point(x: 0, y: 0))
            context.draw(input, at: Point(x: 2, y: 1), alpha: 0.5)
        }
        #expect(image.pixels[0, 0] == SIMD4(255, 0, 0, 255) && image.pixels[1, 0] == input.pixels[1, 0])
        #expect(image.pixels[2, 1] == SIMD4(128, 0, 0, 128) && image.pixels[3, 0] == .zero)
    }

    @Test func enlargedImagesKeepTheirEdges() throws {
        let input = try Image(size: PointSize(width: 2, height: 2), isOpaque: true) { $0.fill(with: .color(red)) }
        let image = try Image(size: PointSize(width: 20, height: 20)) { context in
            context.draw(input, in: PointRect(x: 0, y: 0, width: 20, height: 20))
        }
        #expect(image.pixels.isOpaque && image.pixels[0, 19] == SIMD4(255, 0, 0, 255))
    }

    @Test func blendModesStayInsideTheShape() throws {
        for mode in BlendMode.allCases {
            let image = try Image(size: PointSize(width: 4, height: 1)) { context in
                context.fill(with: .color(red))
                let left = PointRect(x: 0, y: 0, width: 2, height: 1)
                context.fill(Path(left), with: .color(blue), mode: mode)
                let input = try Image(size: PointSize(width: 1, height: 1)) { $0.fill(with: .color(blue)) }
                context.draw(input, in: PointRect(x: 2, y: 0, width: 1, height: 1), mode: mode)
            }
            #expect(image.pixels[0, 0] == image.pixels[2, 0], "\(mode)")
            #expect(image.pixels[3, 0] == SIMD4(255, 0, 0, 255), "\(mode)")
        }
    }

    @Test(arguments: [
        (BlendMode.sourceOver, SIMD4<UInt8>(0, 0, 255, 255)), (.clear, .zero), (.destination, SIMD4(255, 0, 0, 255)),
        (.multiply, SIMD4(0, 0, 0, 255)), (.screen, SIMD4(255, 0, 255, 255)), (.add, SIMD4(255, 0, 255, 255)),
        (.difference, SIMD4(255, 0, 255, 255)), (.xor, .zero), (.destinationOut, .zero),
    ])
    func blends(mode: BlendMode, expected: SIMD4<UInt8>) throws {
        let image = try Image(size: PointSize(width: 1, height: 1)) { context in
            context.fill(with: .color(red))
            context.fill(with: .color(blue), mode: mode)
        }
        #expect(image.pixels[0, 0] == expected)
    }

    @Test func exposesCairosContext() throws {
        _ = try Image(size: PointSize(width: 1, height: 1)) { context in
            #expect(UInt(bitPattern: context.cairoContext) != 0)
        }
    }

    // MARK: Failures

    private enum Failure: Error { case mine }

    @Test func forwardsErrorsOfTheClosure() {
        let size = PointSize(width: 1, height: 1)
        #expect(throws: WebImageError.notInCache(key: "a")) {
            try Image(size: size) { _ in throw WebImageError.notInCache(key: "a") }
        }
        #expect(throws: WebImageError.drawing(.failed("mine"))) {
            try Image(size: size) { _ in throw Failure.mine }
        }
    }

    @Test(
        arguments: [
            (PointSize(width: 0, height: 1), 1), (PointSize(width: 1, height: -4), 1),
            (PointSize(width: .nan, height: 1), 1),
            (PointSize(width: 1, height: .infinity), 1), (PointSize(width: 1, height: 1), 0),
            (PointSize(width: 1, height: 1), -1), (PointSize(width: 1, height: 1), .nan),
            (PointSize(width: 32_768, height: 1), 1), (PointSize(width: 30_000, height: 30_000), 1),
        ] as [(PointSize, Double)])
    func rejectsInvalidSizes(size: PointSize, scale: Double) {
        #expect(throws: WebImageError.self) {
            try Image(size: size, scale: scale) { _ in Issue.record("nothing can be drawn on") }
        }
    }

    @Test func drawsOnTheLongestSide() throws {
        let image = try Image(size: PointSize(width: 32_767, height: 1)) { $0.fill(with: .color(red)) }
        #expect(image.pixels[32_766, 0] == SIMD4(255, 0, 0, 255))
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300, 5_000_000])
    func rejectsInvalidNumbers(number: Double) throws {
        let rect = PointRect(x: 0, y: 0, width: number, height: 1)
        let font = Font(size: 12)
        let input = try Image(size: PointSize(width: 1, height: 1)) { _ in }
        let stops: [(Double, Color)] = [(0, red)]
        let color = Color(red: number, green: 0, blue: 0)
        let drawings: [(borrowing DrawingContext) -> Void] = [
            { $0.fill(Path(rect), with: .color(.black)) },
            { $0.fill(Path(circleAround: Point(x: number, y: 1), radius: 1), with: .color(.black)) },
            { $0.fill(Path(PointRect(x: 0, y: 0, width: 9, height: 9), cornerRadius: .nan), with: .color(.black)) },
            {
                $0.stroke(
                    Path(PointRect(x: 0, y: 0, width: 9, height: 9)), with: .color(.black), width: number)
            },
            {
                $0.stroke(
                    Path(PointRect(x: 0, y: 0, width: 9, height: 9)), with: .color(.black),
                    dashes: [1, number])
            },
            { $0.clip(to: Path(rect)) }, { $0.fill(with: .color(color)) },
            { $0.fill(with: .linearGradient(from: Point(x: 0, y: 0), to: Point(x: number, y: 0), stops: stops)) },
            { $0.fill(with: .radialGradient(center: Point(x: 0, y: 0), outerRadius: number, stops: stops)) },
            {
                $0.fill(
                    with: .radialGradient(
                        center: Point(x: 0, y: 0), outerRadius: 1, stops: [(number, .black)]))
            },
            { $0.translate(x: number, y: 0) }, { $0.scale(x: 1, y: number) }, { $0.rotate(by: .radians(number)) },
            { $0.draw(input, in: rect) }, { $0.draw(input, at: Point(x: 0, y: 0), alpha: number) },
            { $0.draw(StyledText("a", font: font), at: Point(x: number, y: 0)) },
            { $0.draw(StyledText("a", font: Font(size: number)), at: Point(x: 0, y: 0)) },
            { $0.draw(StyledText("a", font: font, color: color), at: Point(x: 0, y: 0)) },
            { $0.draw(StyledText("a", font: font, wrappingWidth: number), at: Point(x: 0, y: 0)) },
        ]
        for (index, draw) in drawings.enumerated() {
            let error = #expect(throws: WebImageError.self, "drawing \(index)") {
                try Image(size: PointSize(width: 2, height: 2)) { context in
                    draw(context)
                    // Calls after a failure do nothing.
                    context.fill(Path(PointRect(x: 0, y: 0, width: 1, height: 1)), with: .color(.black))
                }
            }
            #expect(error?.code == 322)
        }
    }

    @Test func rejectsZeroScaleEndlessDashesAndUnbalancedRestores() {
        let path = Path(PointRect(x: 0, y: 0, width: 1, height: 1))
        let size = PointSize(width: 1, height: 1)
        #expect(
            throws: WebImageError.drawing(.invalidParameter(name: "scale", value: "0.0"))
        ) {
            try Image(size: size) { $0.scale(x: 0, y: 1) }
        }
        #expect(throws: WebImageError.self) {
            try Image(size: size) { $0.stroke(path, with: .color(.black), dashes: [0, 0]) }
        }
        #expect(throws: WebImageError.self) {
            try Image(size: size) { $0.stroke(path, with: .color(.black), width: -1) }
        }
        #expect(throws: WebImageError.drawing(.failed("a drawing state was restored that had not been saved"))) {
            try Image(size: size) { context in
                context.save()
                context.restore()
                context.restore()
            }
        }
    }

    @Test func unrestoredStatesAreAccepted() throws {
        _ = try Image(size: PointSize(width: 1, height: 1)) { $0.save() }
    }

    @Test func drawsFromManyThreadsAtOnce() async throws {
        let images = try await withThrowingTaskGroup(of: Image.self) { group in
            for _ in 0..<64 {
                group.addTask {
                    try Image(size: PointSize(width: 90, height: 30), scale: 2) { context in
                        context.fill(with: .color(.white))
                        context.draw(StyledText("Text 😀 شكرا", font: Font(size: 14)), at: Point(x: 2, y: 2))
                        context.stroke(Path(circleAround: Point(x: 40, y: 15), radius: 9), with: .color(.black))
                    }
                }
            }
            return try await group.reduce(into: [Image]()) { $0.append($1) }
        }
        #expect(images.count == 64)
        for image in images { #expect(bytes(of: image) == bytes(of: images[0])) }
    }
}

func bytes(of image: Image) -> [UInt8] { image.pixels.withUnsafeBytes { Array($0) } }

/// Drawings with random numbers: an image or an error, never a crash, and in limited time.
@Suite(.timeLimit(.minutes(3))) struct DrawingFuzzTests {
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
        // No invalid size was tried on a font, which would be unusable afterwards.
        let text = try Image(text: StyledText("Ab 😀", font: Font(size: 20)))
        #expect(coverage(of: text) > 100)
    }

    @Test func tinyDashesAlongALongLineAreDrawn() throws {
        var line = Path()
        line.move(to: Point(x: -4e6, y: -4e6))
        line.line(to: Point(x: 4e6, y: 4e6))
        for dash in [1e-300, 1e-6, 0.3] {
            let image = try Image(size: PointSize(width: 9, height: 9)) {
                $0.stroke(line, with: .color(.black), width: 3, dashes: [dash])
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
                Path(ellipseIn: rect), with: .color(.black), width: n[6], dashes: [n[5], n[7]])
        case 2: context.clip(to: Path(rect))
        case 3: context.translate(x: n[0], y: n[1])
        case 4: context.scale(x: n[2], y: n[3])
        case 5: context.rotate(by: .radians(n[0]))
        case 6: context.draw(StyledText("Ab 😀", font: Font(size: n[6])), at: Point(x: n[0], y: n[1]))
        case 7: context.draw(StyledText("Ab cd", font: Font(size: 9), wrappingWidth: n[2]), at: Point(x: n[0], y: n[1]))
        case 8:
            let stops: [(Double, Color)] = [(n[4], .black), (n[5], .white)]
            context.fill(
                with: .linearGradient(from: Point(x: n[0], y: n[1]), to: Point(x: n[2], y: n[3]), stops: stops))
        case 9:
            let stops: [(Double, Color)] = [(0, .black), (1, .white)]
            context.fill(
                with: .radialGradient(
                    center: Point(x: n[0], y: n[1]), innerRadius: n[2], outerRadius: n[3], stops: stops))
        case 10:
            var path = Path()
            path.arc(
                center: Point(x: n[0], y: n[1]), radius: n[2], from: .radians(n[3]), to: .radians(n[4]),
                isClockwise: n[5] > 0)
            path.quadraticCurve(to: Point(x: n[6], y: n[7]), control: Point(x: 3, y: 3))
            context.fill(path, with: .color(.black), isEvenOdd: true, mode: mode)
        default:
            if let input = try? Image(size: PointSize(width: 3, height: 2), draw: { $0.fill(with: .color(.white)) }) {
                context.draw(input, in: rect, mode: mode, alpha: n[6])
            }
        }
    }
}
