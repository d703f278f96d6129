internal import CommandReference
internal import ProgramSupport
internal import WebImage

/// Declares the arguments of a command, and holds what was given.
///
/// ```swift
/// let parser = GetCommand.parser(operands: "URL|FILE…")
/// let size = parser.option("size", value: "WxH", help: "…")
/// let inputs = try parser.parse(arguments)
/// size.value
/// ```
final class OptionParser {
    /// An option without a value.
    final class Flag {
        let name: String
        /// Whether it was given.
        fileprivate(set) var isSet = false

        fileprivate init(_ name: String) { self.name = name }
    }

    /// An option with a value, which may be given several times.
    final class Option {
        let name: String
        /// All values, in order, as bytes.
        fileprivate(set) var paths: [SystemString] = []
        /// All values, which are UTF-8 for options without a file or directory.
        var values: [String] { paths.map(\.description) }
        /// The last value, which takes precedence if only one is used.
        var value: String? { path?.description }
        /// The last value as a path.
        var path: SystemString? { paths.last }

        fileprivate init(_ name: String) { self.name = name }
    }

    private enum Target {
        case flag(Flag)
        case option(Option)
    }

    /// The declarations so far.
    private(set) var syntax: CommandSyntax
    /// The results of ``CommandSyntax/options``, in the same order.
    private var targets: [Target] = []
    /// The formats of options that are not for all.
    private var limits: [String: [ImageFormat]] = [:]
    /// The heading of the options that are declared next.
    var group: LocalizableText = CommandSyntax.defaultGroup

    /// - Parameters:
    ///   - command: the name after `webimage`.
    ///   - operands: the arguments after the options, such as `URL|FILE…`.
    ///   - completion: the words that a shell suggests for them.
    ///   - details: text below the options in the help, as paragraphs separated by empty lines.
    init(
        command: String, summary: LocalizableText, operands: String, completion: CommandSyntax.Completion,
        details: String
    ) {
        syntax = CommandSyntax(
            program: ProgramDescription.webimage.name, name: command, summary: summary, operands: operands,
            operandCompletion: completion, details: details)
    }

    /// Declares a word that can be the first operand.
    func action(_ name: String, operands: String = "", help: LocalizableText) {
        syntax.actions.append(CommandSyntax.Action(name: name, operands: operands, help: help))
    }

    /// - Parameter formats: those that the option is for; none for an option that is for all.
    func flag(_ name: String, formats: [ImageFormat] = [], letter: Character? = nil, help: LocalizableText) -> Flag {
        let flag = Flag(name)
        syntax.options.append(CommandSyntax.Option(name: name, letter: letter, help: help, group: group))
        targets.append(.flag(flag))
        if !formats.isEmpty { limits[name] = formats }
        return flag
    }

    /// - Parameters:
    ///   - formats: those that the option is for; none for an option that is for all.
    ///   - alias: another name for the option.
    ///   - valueName: the placeholder of the value in the help.
    ///   - completion: the values that a shell suggests.
    func option(
        _ name: String, formats: [ImageFormat] = [], alias: String? = nil, letter: Character? = nil,
        value valueName: String,
        completion: CommandSyntax.Completion = .text, help: LocalizableText
    ) -> Option {
        let option = Option(name)
        syntax.options.append(
            CommandSyntax.Option(
                name: name, alias: alias, letter: letter, valueName: valueName, completion: completion, help: help,
                group: group))
        targets.append(.option(option))
        if !formats.isEmpty { limits[name] = formats }
        return option
    }

    /// Declares an option whose value is one of a few words, which the help lists.
    func option(_ name: String, formats: [ImageFormat] = [], words: [String], help: LocalizableText) -> Option {
        option(name, formats: formats, value: words.joined(separator: "|"), completion: .words(words), help: help)
    }

    /// Sets the declared flags and options from `arguments` and returns the operands.
    ///
    /// - Throws: ``ArgumentError/usage(command:reason:)``; ``ArgumentError/help(_:)`` for `--help`.
    func parse(_ arguments: [SystemString]) throws(ArgumentError) -> [SystemString] {
        let help = flag("help", letter: "h", help: "Print this help and exit")
        let given: CommandArguments
        do throws(CommandArguments.Failure) {
            given = try CommandArguments(arguments, for: syntax)
        } catch {
            throw self.error(error.reason)
        }
        for (option, target) in zip(syntax.options, targets) {
            switch target {
            case .flag(let flag): flag.isSet = given.isGiven(option.name)
            case .option(let result): result.paths = given.values(of: option.name)
            }
        }
        if help.isSet { throw .help(syntax) }
        return given.operands
    }

    /// The names of the given options, in the order of their declaration.
    var givenNames: [String] {
        zip(syntax.options, targets).filter { _, target in
            switch target {
            case .flag(let flag): flag.isSet
            case .option(let option): !option.paths.isEmpty
            }
        }.map(\.0.name)
    }

    /// The given options that are only for some formats.
    var givenLimitedOptions: [(name: String, formats: [ImageFormat])] {
        givenNames.compactMap { name in limits[name].map { (name, $0) } }
    }

    /// Returns a usage error of this command.
    func error(_ reason: LocalizableText) -> ArgumentError { .usage(command: syntax.command, reason: reason) }
}

/// A reason for not starting a command.
enum ArgumentError: Error {
    /// `--help` was given.
    case help(CommandSyntax)
    /// The arguments are invalid.
    case usage(command: String, reason: LocalizableText)
}
