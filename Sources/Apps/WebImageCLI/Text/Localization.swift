internal import CommandReference
internal import ProgramSupport

/// What the tool says, in the user's language. Text for scripts does not pass here: JSON, CSV, the manual page and completions are in English.
let texts = TextDomain(program: ProgramDescription.webimage.name)

/// Returns a text in the user's language.
func localized(_ text: LocalizableText) -> String { texts.string(for: text) }

extension LocalizableText {
    /// For example `jpeg, png or webp`.
    static func anyOf(_ names: [String]) -> LocalizableText {
        guard let last = names.last, names.count > 1 else {
            return joined(names.map(LocalizableText.init(verbatim:)), by: "")
        }
        return "\(names.dropLast().joined(separator: ", ")) or \(last)"
    }

    /// For example `jpeg, png and webp`.
    static func allOf(_ names: [String]) -> LocalizableText {
        guard let last = names.last, names.count > 1 else {
            return joined(names.map(LocalizableText.init(verbatim:)), by: "")
        }
        return "\(names.dropLast().joined(separator: ", ")) and \(last)"
    }
}
