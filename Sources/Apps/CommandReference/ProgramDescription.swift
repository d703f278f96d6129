public import ProgramSupport

/// The texts about a program as a whole, for its help and its manual page.
public struct ProgramDescription: Sendable {
    /// A term and what it means.
    public typealias Row = (term: String, text: LocalizableText)

    /// As typed.
    public let name: String
    /// In a few words.
    public let tagline: String
    /// Paragraphs separated by empty lines.
    public let text: String
    /// The exit statuses.
    public let statuses: [Row]
    /// The sections of the manual page after the exit statuses; in English, as the page is.
    public let sections: [(heading: String, rows: [Row])]

    /// Creates a description.
    public init(
        name: String, tagline: String, text: String, statuses: [Row], sections: [(heading: String, rows: [Row])]
    ) {
        (self.name, self.tagline, self.text) = (name, tagline, text)
        (self.statuses, self.sections) = (statuses, sections)
    }

    /// The paragraphs of ``text``, each on one line.
    public var paragraphs: [LocalizableText] { CommandSyntax.paragraphs(of: text) }
}
