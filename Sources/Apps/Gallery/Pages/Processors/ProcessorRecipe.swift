import WebImageGTK

/// Processors in order, with their parameters.
struct ProcessorRecipe: Sendable, Hashable {
    struct Step: Sendable, Hashable {
        /// Of a ``ProcessorKind``.
        let name: String
        var values: ProcessorValues

        init(_ kind: ProcessorKind) { (name, values) = (kind.name, ProcessorValues(kind.fields)) }

        var kind: ProcessorKind? { ProcessorKind.named(name) }
        var code: String { kind.map { $0.code(values) } ?? "" }
    }

    var steps: [Step] = []

    /// A first example: an image cut to size, with round corners.
    static let example = ProcessorRecipe(names: ["resize", "color", "corners"])

    init(names: [String] = []) { steps = names.compactMap { ProcessorKind.named($0).map(Step.init) } }

    func processors(with operands: ProcessorOperands) -> [ImageProcessor] {
        steps.compactMap { step in step.kind?.make(step.values, operands) }
    }

    /// Returns the processed image. Blocks the calling thread.
    func apply(to image: Image, with operands: ProcessorOperands) throws(WebImageError) -> Image {
        try image.processed(by: processors(with: operands))
    }

    /// A function to copy that shows an image processed in this way.
    var code: String {
        let operands = ProcessorOperand.allCases.filter { operand in
            steps.contains { $0.kind?.operand == operand }
        }
        let parameters = ["_ url: URL", "in picture: WebPicture"] + operands.map { "\($0.rawValue): Image" }
        let imports = "import Foundation\nimport WebImageGTK\n\n"
        let head = "@MainActor func show(\(parameters.joined(separator: ", "))) {\n"
        guard !steps.isEmpty else { return imports + head + "    picture.setImage(url)\n}\n" }
        let lines = steps.map { "            \($0.code),\n" }.joined()
        return imports + head + "    picture.setImage(\n        url,\n        processors: [\n\(lines)        ])\n}\n"
    }
}
