public import WebImageProcessing

extension Path: ProcessorParameter {
    /// A letter and the numbers of each step, such as `M0_0L10_0.5Z`.
    public var identifierValue: ProcessorIdentifier.Value {
        func text(_ letter: String, _ points: [Point]) -> String {
            letter + points.flatMap { [$0.x, $0.y] }.map(\.identifierValue.description).joined(separator: "_")
        }
        let steps = elements.map { element in
            switch element {
            case .move(let point): text("M", [point])
            case .line(let point): text("L", [point])
            case .curve(let point, let control1, let control2): text("C", [control1, control2, point])
            case .close: "Z"
            }
        }
        return ProcessorIdentifier.Value(verbatim: steps.joined())
    }
}

extension Path.FillRule: ProcessorParameter {}
