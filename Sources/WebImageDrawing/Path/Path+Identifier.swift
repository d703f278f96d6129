public import WebImageProcessing

extension Path: ProcessorParameter {
    /// A letter and the numbers of each step, such as `M0_0L10_0.5Z`.
    public var identifierText: String {
        func text(_ letter: String, _ points: [Point]) -> String {
            letter + points.flatMap { [$0.x, $0.y] }.map(\.identifierText).joined(separator: "_")
        }
        return elements.map { element in
            switch element {
            case .move(let point): text("M", [point])
            case .line(let point): text("L", [point])
            case .curve(let point, let control1, let control2): text("C", [control1, control2, point])
            case .close: "Z"
            }
        }.joined()
    }
}

extension Path.FillRule: ProcessorParameter {}
