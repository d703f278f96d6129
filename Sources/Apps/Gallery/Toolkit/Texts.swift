import ProgramSupport

/// The Gallery's texts, in the user's language.
let texts = TextDomain(program: "webimage-gallery")

/// Returns a text in the user's language, which is known once GTK is initialized.
///
/// - Parameters:
///   - text: a literal in English.
///   - values: what takes the places of names in braces.
func localized(_ text: String, _ values: [String: any CustomStringConvertible] = [:]) -> String {
    texts.localized(text, values.mapValues(\.description))
}

/// Returns a text that says a count, in the user's language and the form of that count.
///
/// - Parameters:
///   - one: a literal in English for a count of 1.
///   - other: a literal in English for other counts, with the count as `{count}`.
///   - count: at least 0.
///   - values: what takes the places of other names in braces.
func counted(
    _ one: String, _ other: String, count: Int, _ values: [String: any CustomStringConvertible] = [:]
) -> String { texts.counted(one, other, count: count, values.mapValues(\.description)) }
