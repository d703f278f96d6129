/// The texts about a program as a whole, for its help and its manual page.
package struct ProgramDescription: Sendable {
    package typealias Row = (term: String, text: String)

    /// As typed.
    package let name: String
    /// In a few words.
    package let tagline: String
    /// Paragraphs separated by empty lines.
    package let text: String
    /// The exit statuses.
    package let statuses: [Row]
    /// The sections of the manual page after the exit statuses.
    package let sections: [(heading: String, rows: [Row])]

    package init(
        name: String, tagline: String, text: String, statuses: [Row], sections: [(heading: String, rows: [Row])]
    ) {
        (self.name, self.tagline, self.text) = (name, tagline, text)
        (self.statuses, self.sections) = (statuses, sections)
    }

    /// The paragraphs of ``text``, each on one line.
    package var paragraphs: [String] { CommandSyntax.paragraphs(of: text) }
}
