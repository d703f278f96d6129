internal import WebImageCore

/// The manual page `webimage(1)`, in the `man` macros of roff.
struct ManualPage {
    let commands: [CommandSyntax]

    var text: String {
        var page = """
            .\\" Printed by 'webimage help --man'.
            .TH WEBIMAGE 1 \(LibraryVersion.date) "\(CommandSyntax.program) \(LibraryVersion.text)" "User Commands"
            .nh
            .ad l
            .SH NAME
            \(CommandSyntax.program) \\- \(Self.escaped(ToolDescription.tagline))
            .SH SYNOPSIS
            .B \(CommandSyntax.program)
            .I COMMAND
            .RI [ OPTION \\[u2026]]
            \\[u2026]
            .SH DESCRIPTION

            """
        page += CommandSyntax.paragraphs(of: ToolDescription.text).map(Self.line).joined(separator: "\n.PP\n") + "\n"
        page += ".SH COMMANDS\n"
        for command in commands { page += Self.section(for: command) }
        for (heading, rows) in ToolDescription.sections {
            page += ".SH \(heading)\n"
            for row in rows { page += ".TP\n.B \(Self.escaped(row.term))\n\(Self.line(row.text))\n" }
        }
        return page
    }

    private static func section(for syntax: CommandSyntax) -> String {
        var text = """
            .SS \(escaped(syntax.command))
            .B \(escaped(syntax.command))
            .RI [ OPTION \\[u2026]]
            .I \(escaped(syntax.operands))
            .PP
            \(line(syntax.summary + "."))

            """
        for action in syntax.actions {
            text += ".TP\n\\fB\(escaped(action.name))\\fR"
            text += (action.operands.isEmpty ? "" : " \\fI\(escaped(action.operands))\\fR") + "\n\(line(action.help))\n"
        }
        for group in syntax.groups {
            text += ".PP\n.B \(escaped(group.heading)):\n.RS 3\n"
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
    private static func line(_ text: String) -> String {
        HelpText.wrapped(escaped(text)).split(separator: "\n").map { $0.hasPrefix(".") ? "\\&" + $0 : String($0) }
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
