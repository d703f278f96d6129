internal import CommandReference
internal import CWebImageGLib
internal import WebImageCore

/// Declares the arguments of a command and parses them with GLib's option parser (`GOptionContext`).
///
/// ```swift
/// let parser = OptionParser(command: "get", summary: "Load images", operands: "URL|FILE…")
/// let size = parser.option("size", value: "WxH", help: "…")
/// let inputs = try parser.parse(arguments)
/// size.value
/// ```
///
/// All C types are confined to ``parse(_:)``; declarations and results are plain Swift.
final class OptionParser {
    /// An option without a value.
    final class Flag {
        /// Whether it was given.
        fileprivate(set) var isSet = false
    }

    /// An option with a value, which may be given several times.
    final class Option {
        /// All values, in order, as bytes.
        fileprivate(set) var paths: [SystemString] = []
        /// All values, which are UTF-8 for options without a file or directory.
        var values: [String] { paths.map(\.description) }
        /// The last value, which takes precedence if only one is used.
        var value: String? { path?.description }
        /// The last value as a path.
        var path: SystemString? { paths.last }
    }

    private enum Target {
        case flag(Flag)
        case option(Option)
    }

    /// An argument for GLib. An alias is a row of its own.
    private struct Row {
        let name: String
        var letter: Character?
        let target: Target
        /// Whether this is another name of the previous row.
        var isAlias = false
    }

    /// The declarations so far.
    private(set) var syntax: CommandSyntax
    /// The results of ``CommandSyntax/options``, in the same order.
    private var targets: [Target] = []
    /// The heading of the options that are declared next.
    var group = CommandSyntax.defaultGroup

    /// - Parameters:
    ///   - command: the name after `webimage`.
    ///   - operands: the arguments after the options, such as `URL|FILE…`.
    ///   - completion: the words that a shell suggests for them.
    ///   - details: text below the options in the help, as paragraphs separated by empty lines.
    init(
        command: String, summary: String, operands: String, completion: CommandSyntax.Completion = .text,
        details: String = ""
    ) {
        syntax = CommandSyntax(
            program: ProgramDescription.webimage.name, name: command, summary: summary, operands: operands,
            operandCompletion: completion, details: details)
    }

    /// Declares a word that can be the first operand.
    func action(_ name: String, operands: String = "", help: String) {
        syntax.actions.append(CommandSyntax.Action(name: name, operands: operands, help: help))
    }

    func flag(_ name: String, letter: Character? = nil, help: String) -> Flag {
        let flag = Flag()
        syntax.options.append(CommandSyntax.Option(name: name, letter: letter, help: help, group: group))
        targets.append(.flag(flag))
        return flag
    }

    /// - Parameters:
    ///   - alias: another name for the option.
    ///   - valueName: the placeholder of the value in the help.
    ///   - completion: the values that a shell suggests.
    func option(
        _ name: String, alias: String? = nil, letter: Character? = nil, value valueName: String,
        completion: CommandSyntax.Completion = .text, help: String
    ) -> Option {
        let option = Option()
        syntax.options.append(
            CommandSyntax.Option(
                name: name, alias: alias, letter: letter, valueName: valueName, completion: completion, help: help,
                group: group))
        targets.append(.option(option))
        return option
    }

    /// Declares an option whose value is one of a few words, which the help lists.
    func option(_ name: String, words: [String], help: String) -> Option {
        option(name, value: words.joined(separator: "|"), completion: .words(words), help: help)
    }

    /// Sets the declared flags and options from `arguments` and returns the operands.
    ///
    /// - Throws: ``ArgumentError/usage(command:reason:)``; ``ArgumentError/help(_:)`` for `--help`.
    func parse(_ arguments: [SystemString]) throws(ArgumentError) -> [SystemString] {
        let help = flag("help", letter: "h", help: "Print this help and exit")
        let rest = Option()
        var rows: [Row] = []
        for (option, target) in zip(syntax.options, targets) {
            rows.append(Row(name: option.name, letter: option.letter, target: target))
            if let alias = option.alias { rows.append(Row(name: alias, target: target, isAlias: true)) }
        }
        // GLib's G_OPTION_REMAINING is the empty name.
        rows.append(Row(name: "", target: .option(rest)))

        // GLib copies the rows but not their strings, and writes into the cells.
        let strings = CStrings()
        // The names of one option share a cell, so that its values are in the order of the arguments.
        var cells: [UnsafeMutablePointer<gpointer?>] = []
        for row in rows {
            if row.isAlias, let last = cells.last {
                cells.append(last)
            } else {
                cells.append(.allocate(capacity: 1))
                cells.last?.initialize(to: nil)
            }
        }
        defer { for (row, cell) in zip(rows, cells) where !row.isAlias { cell.deallocate() } }
        let entries =
            zip(rows, cells).map { row, cell in entry(for: row, cell: cell, strings: strings) } + [GOptionEntry()]

        let context = g_option_context_new(nil)
        defer { g_option_context_free(context) }
        // GLib's own --help would print in the locale's encoding and exit.
        g_option_context_set_help_enabled(context, 0)
        g_option_context_add_main_entries(context, entries, nil)
        g_set_prgname(syntax.command)

        var vector = CStrings.vector([SystemString(syntax.command)] + arguments)
        defer { g_strfreev(vector) }
        var failure: UnsafeMutablePointer<GError>?
        let isParsed = g_option_context_parse_strv(context, &vector, &failure) != 0
        for (row, cell) in zip(rows, cells) where !row.isAlias { collect(cell, into: row.target) }

        if let failure {
            defer { g_error_free(failure) }
            throw error(unknownOption(in: arguments, failure.pointee) ?? Self.reason(of: failure.pointee))
        }
        guard isParsed else { throw error("the arguments cannot be read") }
        if help.isSet { throw .help(syntax) }
        try checkTexts()
        return rest.paths
    }

    /// Throws a usage error for a value that is not UTF-8, unless it is a path.
    private func checkTexts() throws(ArgumentError) {
        for (option, target) in zip(syntax.options, targets) {
            guard case .option(let result) = target, !option.takesPath,
                let value = result.paths.first(where: { $0.text == nil })
            else { continue }
            throw error("--\(option.name) takes text in UTF-8, not '\(value)'")
        }
    }

    /// GLib's message begins with a capital, unlike ours.
    private static func reason(of failure: GError) -> String {
        let message = String(cString: failure.message)
        return message.prefix(1).lowercased() + message.dropFirst()
    }

    /// Returns the error text for an undeclared option; `nil` for other errors.
    private func unknownOption(in arguments: [SystemString], _ failure: GError) -> String? {
        guard failure.domain == g_option_error_quark(), failure.code == Int32(G_OPTION_ERROR_UNKNOWN_OPTION.rawValue)
        else { return nil }
        // GLib's message ends with the name of the option.
        let message = String(cString: failure.message)
        let candidates = arguments.map(\.description).filter { $0.hasPrefix("-") }
        guard let argument = candidates.first(where: message.hasSuffix) else { return nil }
        let option = String(argument.prefix { $0 != "=" })
        let suggestion = Suggestion.text(
            for: String(option.drop { $0 == "-" }),
            among: syntax.options.flatMap { [$0.name] + ($0.alias.map { [$0] } ?? []) },
            prefix: "--")
        return "unknown option '\(option)'" + suggestion
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

    /// Returns a usage error of this command.
    func error(_ reason: String) -> ArgumentError { .usage(command: syntax.command, reason: reason) }

    private func entry(for row: Row, cell: UnsafeMutablePointer<gpointer?>, strings: CStrings) -> GOptionEntry {
        var entry = GOptionEntry()
        entry.long_name = strings.add(row.name)
        entry.short_name = row.letter?.asciiValue.map(gchar.init) ?? 0
        entry.arg_data = UnsafeMutableRawPointer(cell)
        switch row.target {
        case .flag:
            entry.arg = G_OPTION_ARG_NONE
        case .option:
            // FILENAME returns the original bytes; STRING would convert them from the locale's encoding and reject "ä"
            // in the C locale.
            entry.arg = G_OPTION_ARG_FILENAME_ARRAY
        }
        return entry
    }

    private func collect(_ cell: UnsafeMutablePointer<gpointer?>, into target: Target) {
        switch target {
        case .flag(let flag):
            flag.isSet = cell.withMemoryRebound(to: gboolean.self, capacity: 1) { $0.pointee != 0 }
        case .option(let option):
            guard let vector = cell.pointee?.assumingMemoryBound(to: UnsafeMutablePointer<gchar>?.self) else { return }
            defer { g_strfreev(vector) }
            var next = vector
            while let text = next.pointee {
                option.paths.append(SystemString(cString: text))
                next += 1
            }
        }
    }
}

extension CommandSyntax.Option {
    /// Whether the value is the path of a file or directory.
    fileprivate var takesPath: Bool {
        switch completion {
        case .file, .directory: true
        case .text, .words: false
        }
    }
}

/// C strings that live as long as this object.
private final class CStrings {
    private var owned: [UnsafeMutablePointer<gchar>?] = []

    func add(_ text: String) -> UnsafePointer<gchar>? {
        let copy = g_strdup(text)
        owned.append(copy)
        return UnsafePointer(copy)
    }

    deinit { for text in owned { g_free(text) } }

    /// Returns a null-terminated vector for `g_strfreev`, which GLib may shorten in place.
    static func vector(_ texts: [SystemString]) -> UnsafeMutablePointer<UnsafeMutablePointer<gchar>?>? {
        let size = (texts.count + 1) * MemoryLayout<UnsafeMutablePointer<gchar>?>.stride
        let vector = g_malloc0(gsize(size))?.assumingMemoryBound(to: UnsafeMutablePointer<gchar>?.self)
        for (index, text) in texts.enumerated() { vector?[index] = text.withCString { g_strdup($0) } }
        return vector
    }
}

/// A reason for not starting a command.
enum ArgumentError: Error {
    /// `--help` was given.
    case help(CommandSyntax)
    /// The arguments are invalid.
    case usage(command: String, reason: String)
}

/// Suggests the known word that an unknown one probably stands for.
enum Suggestion {
    /// Returns the closest of `candidates`, by the number of typing errors between them; `nil` if none is close.
    static func closest(to word: String, among candidates: [String]) -> String? {
        let limit = max(1, word.count / 3)
        let distances = candidates.map { (candidate: $0, distance: distance(from: word, to: $0)) }
        return distances.filter { $0.distance <= limit }.min { $0.distance < $1.distance }?.candidate
    }

    /// Returns `; did you mean '…'?`, or nothing if no candidate is close.
    ///
    /// - Parameter prefix: text before the candidate, such as `--`.
    static func text(for word: String, among candidates: [String], prefix: String = "") -> String {
        closest(to: word, among: candidates).map { "; did you mean '\(prefix)\($0)'?" } ?? ""
    }

    /// Counts letters that were inserted, omitted or replaced, and swapped neighbors (optimal string alignment). An
    /// abbreviation counts as one error.
    private static func distance(from word: String, to candidate: String) -> Int {
        if word.count >= 3, candidate.hasPrefix(word), candidate != word { return 1 }
        let (first, second) = (Array(word), Array(candidate))
        var rows = [Array(0...second.count)]
        for i in first.indices {
            var row = [i + 1]
            for j in second.indices {
                let isEqual = first[i] == second[j]
                var best = min(rows[i][j] + (isEqual ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, first[i] == second[j - 1], first[i - 1] == second[j] {
                    best = min(best, rows[i - 1][j - 1] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[first.count][second.count]
    }
}
