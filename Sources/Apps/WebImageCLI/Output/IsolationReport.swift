internal import ProgramSupport
internal import WebImage

/// Which process reads files, and in what sandbox.
struct IsolationReport: Sendable {
    /// Whether a file was read in another process; `nil` if it could not be read.
    let isIsolated: Bool?
    private let status = IsolatedDecoding.shared.blockingStatus

    init(isIsolated: Bool?) { self.isIsolated = isIsolated }

    /// About one file.
    var line: LocalizableText? {
        guard let isIsolated else { return nil }
        return isIsolated ? "read in a separate process" : "read in this process"
    }

    /// About the processes, in English, as the library says it.
    var statusLines: [String] { status.description.split(separator: "\n").map(String.init) }

    var json: JSON {
        let missing = SandboxLayer.allCases.compactMap { layer in
            status.missingLayers[layer].map { (layer.rawValue, JSON.string($0)) }
        }
        return [
            "isolated": isIsolated.map { .bool($0) } ?? .null, "program": .optional(status.path),
            "problem": .optional(status.problem),
            "layers": .array(SandboxLayer.allCases.filter(status.layers.contains).map { .string($0.rawValue) }),
            "missing": JSON(missing),
        ]
    }
}
