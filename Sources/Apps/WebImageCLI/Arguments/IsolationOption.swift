internal import WebImage

extension OptionParser {
    /// Declares `--isolated`.
    func isolatedFlag() -> Flag {
        group = "Safety"
        return flag("isolated", help: "Read and write all formats in separate processes, or fail")
    }
}

extension CodecRegistry {
    /// The codecs of a command: those of ``shared``, in separate processes if `isIsolated`.
    static func forTool(isIsolated: Bool) -> CodecRegistry {
        isIsolated ? shared.isolated(by: .allFormats, encoders: true) : shared
    }
}
