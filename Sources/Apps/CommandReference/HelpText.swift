public import ProgramSupport

/// Formats help for a terminal of 80 columns.
public enum HelpText {
    static let width = 80

    /// Returns the text that `--help` prints for a command.
    ///
    /// - Parameter texts: the domain with the translations; English without one.
    public static func text(for syntax: CommandSyntax, in texts: TextDomain? = nil) -> String {
        func localized(_ text: LocalizableText) -> String { texts?.string(for: text) ?? text.english }
        let usage = localized("Usage:")
        var text =
            "\(usage)\n  \(syntax.command) [OPTION…] \(syntax.operands)\n\n\(wrapped(localized("\(syntax.summary).")))\n"
        if !syntax.actions.isEmpty {
            text += "\n" + localized("Actions:") + "\n" + table(syntax.actions.map { ($0.usage, localized($0.help)) })
        }
        let column = column(for: syntax.options.map(\.usage))
        for group in syntax.groups {
            text += "\n\(localized(group.heading)):\n"
            text += table(group.options.map { ($0.usage, localized($0.help)) }, column: column)
        }
        for paragraph in syntax.paragraphs { text += "\n\(wrapped(localized(paragraph)))\n" }
        return text
    }

    /// Returns rows of two columns. A term that is too long for the first column has a line of its own.
    ///
    /// - Parameter column: where the second column begins; `nil` to make room for the terms.
    public static func table(_ rows: [(term: String, text: String)], column: Int? = nil) -> String {
        let column = column ?? Self.column(for: rows.map(\.term))
        let indent = String(repeating: " ", count: column)
        return rows.map { term, text in
            let description = wrapped(text, indent: indent)
            guard term.count + 4 <= column else { return "  \(term)\n\(indent)\(description)\n" }
            return "  \(term)" + indent.dropFirst(term.count + 2) + description + "\n"
        }.joined()
    }

    /// Returns rows of a program's description.
    ///
    /// - Parameter texts: the domain with the translations; English without one.
    public static func table(_ rows: [ProgramDescription.Row], in texts: TextDomain? = nil) -> String {
        table(rows.map { ($0.term, texts?.string(for: $0.text) ?? $0.text.english) })
    }

    /// Returns where the column after these terms begins, unless a term is too long.
    private static func column(for terms: [String]) -> Int {
        let longest = 25
        return min(terms.map(\.count).max() ?? 0, longest) + 4
    }

    /// Breaks a paragraph into lines.
    ///
    /// - Parameter indent: the beginning of each line but the first, which counts as indented.
    public static func wrapped(_ text: String, indent: String = "") -> String {
        var lines = [""]
        for word in text.split(separator: " ") {
            let line = lines[lines.count - 1]
            if line.isEmpty {
                lines[lines.count - 1] = String(word)
            } else if indent.count + line.count + 1 + word.count <= width {
                lines[lines.count - 1] += " \(word)"
            } else {
                lines.append(String(word))
            }
        }
        return lines.joined(separator: "\n" + indent)
    }
}
