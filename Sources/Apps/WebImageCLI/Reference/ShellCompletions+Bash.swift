internal import CommandReference

extension ShellCompletions {
    /// A function for `complete -F`. It needs no package of completions. Where it suggests nothing, bash completes files.
    var bash: String {
        """
        _webimage() {
            local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} word options actions=
            # '=' is a word of its own.
            if [[ $current == = ]]; then
                current=
            elif [[ $option == = ]]; then
                option=${COMP_WORDS[COMP_CWORD - 2]}
            fi
            COMPREPLY=()
            if ((COMP_CWORD == 1)); then
                compopt +o default 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -W '\(commands.map(\.name).joined(separator: " ")) --help --version' -- "$current")
                return
            fi
            for word in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
                [[ $word != -- ]] || return
            done
            case ${COMP_WORDS[1]} in
        \(commands.map(bashCase).joined(separator: "\n"))
            *) return ;;
            esac
            if [[ $current == -* ]]; then
                compopt +o default 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
                [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace 2>/dev/null
            elif [[ $actions ]]; then
                compopt +o default 2>/dev/null
                for word in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
                    [[ " $actions " != *" $word "* ]] || return
                done
                mapfile -t COMPREPLY < <(compgen -W "$actions" -- "$current")
            fi
        }
        complete -o default -F _webimage \(ProgramDescription.webimage.name)

        """
    }

    /// The branch of a command: the values of its options, then the names of the options and of the actions.
    private func bashCase(_ command: CommandSyntax) -> String {
        var lines = ["    \(command.name))", "        case $option in"]
        for option in command.options where option.valueName != nil {
            lines.append("        \(names(of: option).joined(separator: " | ")))")
            switch option.completion {
            case .text: lines.append("            compopt +o default 2>/dev/null")
            case .words(let words):
                lines.append("            compopt +o default 2>/dev/null")
                lines.append(
                    "            mapfile -t COMPREPLY < <(compgen -W '\(words.joined(separator: " "))' -- \"$current\")"
                )
            case .file: break
            case .directory: lines.append("            compopt +o default -o dirnames 2>/dev/null")
            }
            lines.append("            return ;;")
        }
        lines.append("        esac")
        let options = command.options.map { "--\($0.name)" + ($0.valueName == nil ? "" : "=") }
        lines.append("        options='\(options.joined(separator: " "))'")
        var actions = command.actions.map(\.name)
        if case .words(let words) = command.operandCompletion { actions += words }
        if !actions.isEmpty { lines.append("        actions='\(actions.joined(separator: " "))'") }
        lines.append("        ;;")
        return lines.joined(separator: "\n")
    }

    private func names(of option: CommandSyntax.Option) -> [String] {
        (option.letter.map { ["-\($0)"] } ?? []) + ["--\(option.name)"] + (option.alias.map { ["--\($0)"] } ?? [])
    }
}
