import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageProcessing

@Suite(.timeLimit(.minutes(3))) struct ProcessorIdentifierTests {
    @Test func namesEveryParameter() {
        let identifier = ProcessorIdentifier(
            "blur", ["radius": 2.5, "mask": Optional<String>.none, "isSoft": true])
        #expect(identifier.description == "blur(radius:2.5,mask:none,isSoft:yes)")
    }

    @Test func hasNoParenthesesWithoutParameters() {
        #expect(ProcessorIdentifier("grayscale").description == "grayscale")
    }

    @Test func valuesCannotImitateParameters() {
        let one = ProcessorIdentifier("label", ["text": "a,size:2"])
        let two = ProcessorIdentifier("label", ["text": "a", "size": "2"])
        #expect(one.description == "label(text:a%2Csize%3A2)")
        #expect(one != two)
    }

    /// A parameter that imitates two parameters, or another processor.
    private struct Forger: ProcessorParameter {
        let text: String
        var identifierValue: ProcessorIdentifier.Value { .list([.text(text), .number(2)]) }
    }

    @Test func customValuesCannotImitateAnything() {
        let forged = ProcessorIdentifier("label", ["text": Forger(text: "a],size:2)|flip(direction:both")])
        #expect(forged.description == "label(text:[a%5D%2Csize%3A2%29%7Cflip%28direction%3Aboth,2])")
    }

    @Test func distinguishesAnEmptyListFromOneEmptyText() {
        let lists: [[String]] = [[], [""], ["", ""], ["%"]]
        let identifiers = lists.map { ProcessorIdentifier("list", ["of": $0]).description }
        #expect(identifiers == ["list(of:[])", "list(of:[%])", "list(of:[%,%])", "list(of:[%25])"])
    }
}

/// Random processors: equal ones have equal identifiers, others never.
@Suite(.timeLimit(.minutes(3))) struct ProcessorIdentifierFuzzTests {
    /// Uses few values, so that equal processors and those that differ in one parameter are frequent.
    private struct Source {
        var generator = SplitMix64(seed: 21)

        mutating func any<Value>(_ values: [Value]) -> Value {
            values[Int.random(in: 0..<values.count, using: &generator)]
        }

        mutating func number() -> Double {
            any([
                0, -0.0, 1, -1, 0.1, 0.1 + 0.2, 0.3, 12, 1.5, 1e21, 1e-9, .leastNonzeroMagnitude, 1 / 3, 360, 370, 10,
                .infinity,
            ])
        }

        mutating func color() -> Color { any([.clear, .black, .white, Color(red: number(), green: 0, blue: -0.0)]) }
        mutating func size() -> PointSize { PointSize(width: number(), height: number()) }
        mutating func rect() -> PointRect {
            PointRect(x: number(), y: number(), width: number(), height: any([1, 2]))
        }
        mutating func border() -> Border? {
            any([nil, Border(width: number(), color: color(), join: any(LineJoin.allCases))])
        }

        /// Returns a processor and all its values as a text, in which 0 has no sign.
        mutating func processor() -> (String, ImageProcessor) {
            func both(_ processor: some Processor) -> (String, ImageProcessor) {
                var text = ""
                dump(processor, to: &text)
                return (text.replacing("-0.0", with: "0.0"), processor.erased)
            }
            let integers = [1, 2, 12]
            switch Int.random(in: 0..<11, using: &generator) {
            case 0:
                let mode: FitMode = any([
                    .stretch, .aspectFit, .aspectFill, .aspectFillCropped(.center), .letterbox(color()),
                ])
                return both(
                    ResizeProcessor(
                        to: .points(size()), mode: mode, filter: any(ResizeFilter.allCases),
                        allowsUpscaling: any([true, false])))
            case 1:
                return both(ResizeProcessor(to: .pixels(width: any(integers), height: any([nil, 1, 2, 12]))))
            case 2:
                return both(ResizeProcessor(to: any([.points(width: number()), .points(height: number())])))
            case 3: return both(CropProcessor(area: .points(rect())))
            case 4:
                let area = PixelRect(x: any(integers), y: any(integers), width: 12, height: any(integers))
                return both(CropProcessor(area: .pixels(area)))
            case 5:
                let insets = PointInsets(top: number(), left: number(), bottom: any([0, 1]), right: any([0, 1]))
                return both(InsetProcessor(insets: insets, color: color()))
            case 6:
                let radii: CornerRadii = any([
                    CornerRadii(number()), CornerRadii(topLeft: number(), topRight: any([0, 1])),
                    CornerRadii(topLeft: number(), bottomRight: any([0, 1])),
                ])
                return both(RoundedCornersProcessor(radii: radii, border: border()))
            case 7: return both(CircleProcessor(border: border()))
            case 8:
                return both(
                    RotateProcessor(
                        clockwise: .degrees(any([0, -0.0, 10, 370, -350, 1e-9, 90])), keepsSize: any([true, false])))
            case 9: return both(FlipProcessor(horizontally: any([false, true]), vertically: any([false, true])))
            default:
                return both(
                    DrawInRectProcessor(
                        rect: rect(), canvas: size(), contentMode: any([.center, .top, .bottom]),
                        clips: any([true, false]), background: color()))
            }
        }
    }

    @Test func identifiersDifferExactlyIfProcessorsDo() {
        var source = Source()
        var processors: [String: String] = [:]
        var identifiers: [String: String] = [:]
        var repeats = 0
        for _ in 0..<ReleaseChecks.choose(5_000, forRelease: 20_000) {
            let (value, processor) = source.processor()
            let text = processor.identifier.description
            if let other = processors[text] {
                repeats += 1
                #expect(other == value, "\(other) and \(value) are both \(text)")
            }
            if let other = identifiers[value] { #expect(other == text, "\(value) is \(other) and \(text)") }
            processors[text] = value
            identifiers[value] = text
        }
        // Both kinds occurred.
        #expect(repeats > 250)
        #expect(processors.count > 1250)
    }

    /// Identifiers can be parsed: names, parameters and nested lists.
    @Test func canBeParsed() throws {
        var source = Source()
        for _ in 0..<ReleaseChecks.choose(800, forRelease: 3_000) {
            let processors = (0..<Int.random(in: 1...4, using: &source.generator)).map { _ in source.processor().1 }
            let text = ProcessorChain(processors).identifier.description
            let steps = text.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
            #expect(steps == processors.map(\.identifier.description))
            for step in steps {
                let parsed = try #require(ParsedIdentifier(step), "\(step)")
                #expect(parsed.description == step)
                #expect(!parsed.parameters.isEmpty)
                #expect(Set(parsed.parameters.map(\.name)).count == parsed.parameters.count)
            }
        }
    }

    /// Grouping processors makes no difference, their order does.
    @Test func chainsDependOnlyOnTheirSteps() {
        let (one, two) = (
            ImageProcessor.flip(horizontally: true, vertically: true),
            ImageProcessor.rotate(degrees: 30)
        )
        let nested = ProcessorChain([
            ProcessorChain([one]).erased, ProcessorChain([ProcessorChain([]).erased, two]).erased,
        ])
        #expect(nested.identifier == ProcessorChain([one, two]).identifier)
        #expect(nested.identifier != ProcessorChain([two, one]).identifier)
        #expect(nested.prefixes.map(\.identifier) == [one.identifier, nested.identifier])
    }
}

/// `name(parameter:value,…)`, where a value is a word, or a list in brackets with an optional word in front.
private struct ParsedIdentifier: CustomStringConvertible {
    indirect enum Value {
        case word(String)
        case list(String, [Value])

        var text: String {
            switch self {
            case .word(let word): word
            case .list(let name, let values): "\(name)[\(values.map(\.text).joined(separator: ","))]"
            }
        }
    }

    let name: String
    var parameters: [(name: String, value: Value)] = []

    init?(_ text: String) {
        var rest = Substring(text)
        name = Self.word(&rest)
        guard rest.popFirst() == "(", !name.isEmpty else { return nil }
        repeat {
            let name = Self.word(&rest)
            guard !name.isEmpty, rest.popFirst() == ":", let value = Self.value(&rest) else { return nil }
            parameters.append((name, value))
        } while Self.take(",", from: &rest)
        guard rest == ")" else { return nil }
    }

    var description: String {
        "\(name)(\(parameters.map { "\($0.name):\($0.value.text)" }.joined(separator: ",")))"
    }

    private static func take(_ character: Character, from rest: inout Substring) -> Bool {
        guard rest.first == character else { return false }
        rest.removeFirst()
        return true
    }

    private static func word(_ rest: inout Substring) -> String {
        let word = rest.prefix { !",:()|[]#&".contains($0) }
        rest = rest[word.endIndex...]
        return String(word)
    }

    private static func value(_ rest: inout Substring) -> Value? {
        let word = word(&rest)
        guard take("[", from: &rest) else { return word.isEmpty ? nil : .word(word) }
        var values: [Value] = []
        repeat {
            guard let value = value(&rest) else { return nil }
            values.append(value)
        } while take(",", from: &rest)
        return take("]", from: &rest) ? .list(word, values) : nil
    }
}
