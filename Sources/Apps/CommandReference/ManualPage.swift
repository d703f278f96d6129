internal import ProgramSupport
internal import WebImageCore

/// The page of a program in section 1 of the manual, in the `man` macros of roff.
public struct ManualPage {
    private let program: ProgramDescription
    private let commands: [CommandSyntax]
    private let origin: String

    /// - Parameters:
    ///   - commands: those of the program, or the syntax of a program without commands.
    ///   - origin: the command that prints the page.
    public init(_ program: ProgramDescription, commands: [CommandSyntax], origin: String) {
        (self.program, self.commands, self.origin) = (program, commands, origin)
    }

    /// The page.
    public var text: String {
        let name = Self.escaped(program.name)
        var page = """
            .\\" Printed by '\(origin)'.
            .TH \(Self.escaped(program.name.uppercased())) 1 \(LibraryVersion.date) "\(name) \(LibraryVersion.text)" "User Commands"
            .nh
            .ad l
            .SH NAME
            \(name) \\- \(Self.escaped(program.tagline))
            .SH SYNOPSIS

            """
        let own = commands.first { $0.name.isEmpty }
        page +=
            own.map(Self.synopsis) ?? """
                .B \(name)
                .I COMMAND
                .RI [ OPTION \\[u2026]]
                \\[u2026]

                """
        page += ".SH DESCRIPTION\n" + program.paragraphs.map(Self.line).joined(separator: "\n.PP\n") + "\n"
        if let own {
            for group in own.groups {
                page += ".SH \(Self.escaped(group.heading.english.uppercased()))\n"
                for option in group.options { page += Self.paragraph(about: option) }
            }
            for paragraph in own.paragraphs { page += ".PP\n\(Self.line(paragraph))\n" }
        } else {
            page += ".SH COMMANDS\n"
            for command in commands { page += Self.section(for: command) }
        }
        for (heading, rows) in [("EXIT STATUS", program.statuses)] + program.sections {
            page += ".SH \(heading)\n"
            for row in rows { page += ".TP\n.B \(Self.escaped(row.term))\n\(Self.line(row.text))\n" }
        }
        return page
    }

    private static func synopsis(of syntax: CommandSyntax) -> String {
        """
        .B \(escaped(syntax.command))
        .RI [ OPTION \\[u2026]]
        .I \(escaped(syntax.operands))

        """
    }

    private static func section(for syntax: CommandSyntax) -> String {
        var text = ".SS \(escaped(syntax.command))\n" + synopsis(of: syntax) + ".PP\n\(line("\(syntax.summary)."))\n"
        for action in syntax.actions {
            text += ".TP\n\\fB\(escaped(action.name))\\fR"
            text += (action.operands.isEmpty ? "" : " \\fI\(escaped(action.operands))\\fR") + "\n\(line(action.help))\n"
        }
        for group in syntax.groups {
            text += ".PP\n.B \(escaped(group.heading.english)):\n.RS 3\n"
            for option in group.options { text += paragraph(about: option) }
            text += ".RE\n"
        }
        for paragraph in syntax.paragraphs { text += ".PP\n\(line(paragraph))\n" }
        return text
    }

    private static func paragraph(about option: CommandSyntax.Option) -> String {
        let letter = option.letter.map { "\\fB\\-\($0)\\fR, " } ?? ""
        let value = option.valueName.map { "=\\fI\(escaped($0))\\fR" } ?? ""
        return ".TP\n\(letter)\\fB\\-\\-\(escaped(option.name))\\fR\(value)\n\(line(option.help))\n"
    }

    /// Returns a paragraph in short lines. One that begins with a period would be a request.
    private static func line(_ text: LocalizableText) -> String {
        HelpText.wrapped(escaped(text.english)).split(separator: "\n").map {
            $0.hasPrefix(".") ? "\\&" + $0 : String($0)
        }
        .joined(separator: "\n")
    }

    /// Replaces what roff interprets, and whatever is not ASCII.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\e"
            case "-": escaped += "\\-"
            case "'": escaped += "\\(aq"
            case "`": escaped += "\\(ga"
            case "^": escaped += "\\(ha"
            case "~": escaped += "\\(ti"
            case _ where scalar.isASCII: escaped.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                escaped += "\\[u\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits)]"
            }
        }
        return escaped
    }
}
