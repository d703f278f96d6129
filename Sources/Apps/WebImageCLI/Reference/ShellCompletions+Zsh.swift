internal import CommandReference

extension ShellCompletions {
    /// A function for zsh's `_arguments`.
    var zsh: String {
        let list = commands.map { "        \(Self.quoted("\($0.name):\(Self.zshEscaped($0.summary.english))"))" }
        return """
            _\(ProgramDescription.webimage.name)() {
                local context state state_descr line ret=1
                local -A opt_args
                local -a commands actions
                commands=(
            \(list.joined(separator: "\n"))
                )
                _arguments -C -S \\
                    '(- : *)'{-h,--help}'[List the commands]' \\
                    '(- : *)--version[Print the version]' \\
                    '1: :->command' \\
                    '*:: :->arguments' && ret=0
                case $state in
                command) _describe -t commands command commands && ret=0 ;;
                arguments)
                    case $words[1] in
            \(commands.map(zshCase).joined(separator: "\n"))
                    esac
                    ;;
                esac
                return ret
            }

            # As a completion file the function's body runs; after 'source' it is only declared.
            if [[ $funcstack[1] == _\(ProgramDescription.webimage.name) ]]; then
                _\(ProgramDescription.webimage.name) "$@"
            else
                compdef _\(ProgramDescription.webimage.name) \(ProgramDescription.webimage.name)
            fi

            """
    }

    private func zshCase(_ command: CommandSyntax) -> String {
        var lines = ["        \(command.name))"]
        if !command.actions.isEmpty {
            lines.append("            actions=(")
            lines += command.actions.map {
                "                \(Self.quoted("\($0.name):\(Self.zshEscaped($0.help.english))"))"
            }
            lines.append("            )")
        }
        lines.append("            _arguments -s -S \\")
        for option in command.options {
            let description = "[\(Self.zshEscaped(option.help.english))]"
            let ending = option.valueName.map { ":\(Self.zshEscaped($0)):\(zshAction(option.completion))" } ?? ""
            let long = "--\(option.name)" + (option.valueName == nil ? "" : "=")
            let text = Self.quoted(description + ending)
            if let letter = option.letter {
                let short = "-\(letter)" + (option.valueName == nil ? "" : "+")
                lines.append("                '(-\(letter) --\(option.name))'{\(short),\(long)}\(text) \\")
            } else {
                // A header may be given several times.
                lines.append("                \(option.valueName == nil ? "" : "\\*")\(long)\(text) \\")
            }
        }
        if command.actions.isEmpty {
            lines.append("                '*: :\(zshAction(command.operandCompletion))' && ret=0")
        } else {
            lines.append("                '1: :->action' '*: :' && ret=0")
            lines.append("            [[ $state != action ]] || _describe -t actions action actions && ret=0")
        }
        lines.append("            ;;")
        return lines.joined(separator: "\n")
    }

    private func zshAction(_ completion: CommandSyntax.Completion) -> String {
        switch completion {
        case .text: " "
        case .words(let words): "(\(words.joined(separator: " ")))"
        case .file: "_files"
        case .directory: "_files -/"
        }
    }

    /// Escapes what separates the parts of a specification.
    private static func zshEscaped(_ text: String) -> String {
        var escaped = ""
        for character in text {
            if "\\[]:".contains(character) { escaped.append("\\") }
            escaped.append(character)
        }
        return escaped
    }
}
