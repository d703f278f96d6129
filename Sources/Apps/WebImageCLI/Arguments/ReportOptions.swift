internal import ProgramSupport

/// The declarations of `--quiet` and `--json`, in the parser's current group.
struct ReportOptions {
    private let quiet, json: OptionParser.Flag

    /// - Parameters:
    ///   - quietHelp: what `--quiet` does.
    ///   - jsonHelp: what `--json` prints.
    init(
        in parser: OptionParser, quietHelp: LocalizableText = "Print errors only",
        jsonHelp: LocalizableText = "Print one JSON object per line"
    ) {
        quiet = parser.flag("quiet", letter: "q", help: quietHelp)
        json = parser.flag("json", help: jsonHelp)
    }

    /// Returns which of them is set.
    func values(from parser: OptionParser) throws(ArgumentError) -> (isJSON: Bool, isQuiet: Bool) {
        if json.isSet, quiet.isSet { throw parser.error("--json and --quiet cannot be used together") }
        return (json.isSet, quiet.isSet)
    }
}
