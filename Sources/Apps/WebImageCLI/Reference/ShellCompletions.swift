internal import CommandReference

/// The script that makes a shell complete the arguments of `webimage`.
struct ShellCompletions {
    enum Shell: String, CaseIterable {
        case bash, fish, zsh
    }

    let commands: [CommandSyntax]

    func text(for shell: Shell) -> String {
        let header =
            "Completions of \(ProgramDescription.webimage.name), printed by 'webimage help --completions \(shell.rawValue)'."
        return switch shell {
        case .bash: "# \(header)\n" + bash
        case .fish: "# \(header)\n" + fish
        // The first line tells zsh which program the file completes.
        case .zsh: "#compdef \(ProgramDescription.webimage.name)\n# \(header)\n" + zsh
        }
    }

    /// Quotes a text for any of the shells.
    static func quoted(_ text: String) -> String {
        "'" + text.replacing("'", with: "'\\''") + "'"
    }
}
