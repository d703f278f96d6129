extension IsolatedDecoding.Status: CustomStringConvertible {
    /// The program, the layers of its sandbox, and why others do not hold: a line for each.
    public var description: String {
        if let problem { return "isolation: none, because \(problem)" }
        let lines = SandboxLayer.allCases.map { layer in
            layers.contains(layer) ? layer.words : "without \(layer.words): \(missingLayers[layer] ?? "not tried")"
        }
        return (["isolation: \(path ?? "none")"] + lines.map { "  \($0)" }).joined(separator: "\n")
    }
}

extension SandboxLayer {
    /// The name of the case, in words: `network namespace`.
    fileprivate var words: String {
        rawValue.reduce(into: "") { words, letter in
            words += letter.isUppercase ? " " + letter.lowercased() : String(letter)
        }
    }
}
