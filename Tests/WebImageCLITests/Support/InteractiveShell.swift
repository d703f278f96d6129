/// A shell with the tool's completions, in which Tab is pressed.
struct InteractiveShell {
    /// `bash`, `fish` or `zsh`.
    let name: String
    let tool: Tool

    /// Installs the completions that the tool prints.
    init(_ name: String, tool: Tool) async throws {
        self.name = name
        self.tool = tool
        let run = try await tool.run("help", "--completions", name)
        guard run.status == 0, run.errors.isEmpty else { throw ToolError(run.errors) }
        _ = try tool.write(run.outputData, to: name == "zsh" ? "_webimage" : "webimage.\(name)")
    }

    /// Returns what the shell shows when Tab is pressed at the end of `line`.
    func suggestions(for line: String) async throws -> String {
        let run = try await tool.run(program: command(for: line))
        guard run.status == 0 else { throw ToolError(run.output + run.errors) }
        // fish prints the description of a word after a tab.
        return run.output.split(separator: "\n").map { $0.prefix { $0 != "\t" } }.joined(separator: "\n")
    }

    private func command(for line: String) -> [String] {
        switch name {
        case "fish":
            return ["/usr/bin/fish", "--no-config", "-c", "source webimage.fish; complete -C \(Self.quoted(line))"]
        case "bash":
            let setup = """
                PS1=; stty -echo; source webimage.bash; bind 'set completion-query-items 0'; \
                bind 'set page-completions off'; bind '"\\t": possible-completions'
                """
            return Self.terminal("bash --norc -i", setup: setup, line: line)
        default:
            let setup = """
                PS1=; stty -echo; fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=0; \
                bindkey '^I' list-choices
                """
            return Self.terminal("zsh -f -i", setup: setup, line: line)
        }
    }

    /// Returns a command that types into a shell on a pseudo terminal of 200 columns and prints its answer.
    ///
    /// - Parameter setup: the first line, in which Tab is made to list the suggestions.
    private static func terminal(_ shell: String, setup: String, line: String) -> [String] {
        let script = """
            zmodload zsh/zpty
            zpty shell \(shell)
            zpty -w shell $1'; stty columns 200; echo ready$((1+1))'
            zpty -r shell output '*ready2*'
            zpty -w -n shell $2$'\\t'
            # The shell reads this after it has listed the suggestions.
            zpty -w -n shell $'\\C-a\\C-k'' echo end$((1+1))'$'\\n'
            zpty -r shell output '*end2*'
            print -r -- $output
            """
        return ["/usr/bin/zsh", "-f", "-c", script, "zsh", setup, line]
    }

    private static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "\\'") + "'" }
}
