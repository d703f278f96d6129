internal import CWebImageGLib

/// Declares the arguments of a command and parses them with GLib's option parser (`GOptionContext`).
///
/// ```swift
/// let parser = OptionParser(command: "webimage get", summary: "Loads images.", operands: "URL|FILE…")
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
        /// All values, in order.
        fileprivate(set) var values: [String] = []
        /// The last value, which takes precedence if only one is used.
        var value: String? { values.last }
    }

    private enum Target {
        case flag(Flag)
        case option(Option, valueName: String)
    }

    private struct Declaration {
        let name: String
        let letter: Character?
        let help: String
        let target: Target
        /// Whether this is another name of the previous option, which the help omits.
        var isAlias = false
    }

    private let command: String
    private let summary: String
    private let details: String
    private let operands: String
    private var declarations: [Declaration] = []

    /// - Parameters:
    ///   - command: the full name, such as `webimage get`.
    ///   - operands: the arguments after the options, such as `URL|FILE…`.
    ///   - details: text below the options in the help.
    init(command: String, summary: String, operands: String, details: String = "") {
        self.command = command
        self.summary = summary
        self.operands = operands
        self.details = details
    }

    func flag(_ name: String, letter: Character? = nil, help: String) -> Flag {
        let flag = Flag()
        declarations.append(Declaration(name: name, letter: letter, help: help, target: .flag(flag)))
        return flag
    }

    /// - Parameter alias: another name for the option.
    func option(
        _ name: String, alias: String? = nil, letter: Character? = nil, value valueName: String, help: String
    ) -> Option {
        let option = Option()
        let target = Target.option(option, valueName: valueName)
        declarations.append(Declaration(name: name, letter: letter, help: help, target: target))
        if let alias {
            declarations.append(Declaration(name: alias, letter: nil, help: help, target: target, isAlias: true))
        }
        return option
    }

    /// Sets the declared flags and options from `arguments` and returns the operands.
    ///
    /// - Throws: ``ArgumentError/usage(command:reason:)``; ``ArgumentError/help(_:)`` for `--help`.
    func parse(_ arguments: [String]) throws(ArgumentError) -> [String] {
        let help = flag("help", letter: "h", help: "Print this help and exit")
        let rest = Option()
        let rows =
            declarations
            + [
                // GLib's G_OPTION_REMAINING is the empty name.
                Declaration(name: "", letter: nil, help: "", target: .option(rest, valueName: operands))
            ]

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
        g_option_context_set_summary(context, summary)
        g_option_context_set_description(context, details.isEmpty ? nil : details + "\n")
        g_option_context_add_main_entries(context, entries, nil)
        g_set_prgname(command)

        var vector = CStrings.vector([command] + arguments)
        defer { g_strfreev(vector) }
        var failure: UnsafeMutablePointer<GError>?
        let isParsed = g_option_context_parse_strv(context, &vector, &failure) != 0
        for (row, cell) in zip(rows, cells) where !row.isAlias { collect(cell, into: row.target) }

        if let failure {
            defer { g_error_free(failure) }
            let reason = unknownOption(in: arguments, failure.pointee) ?? String(cString: failure.pointee.message)
            throw .usage(command: command, reason: reason)
        }
        guard isParsed else { throw .usage(command: command, reason: "the arguments cannot be read") }
        if help.isSet, let text = g_option_context_get_help(context, 1, nil) {
            defer { g_free(text) }
            throw .help(String(cString: text))
        }
        return rest.values
    }

    /// Returns the error text for an undeclared option; `nil` for other errors.
    private func unknownOption(in arguments: [String], _ failure: GError) -> String? {
        guard failure.domain == g_option_error_quark(), failure.code == Int32(G_OPTION_ERROR_UNKNOWN_OPTION.rawValue)
        else { return nil }
        // GLib's message ends with the name of the option.
        let message = String(cString: failure.message)
        guard let argument = arguments.first(where: { $0.hasPrefix("-") && message.hasSuffix($0) }) else { return nil }
        let option = String(argument.prefix { $0 != "=" })
        let question = Suggestion.question(
            about: String(option.drop { $0 == "-" }), among: declarations.map(\.name), prefix: "--")
        return "there is no option '\(option)'" + question
    }

    /// Returns a usage error of this command.
    func error(_ reason: String) -> ArgumentError { .usage(command: command, reason: reason) }

    private func entry(
        for row: Declaration, cell: UnsafeMutablePointer<gpointer?>, strings: CStrings
    ) -> GOptionEntry {
        var entry = GOptionEntry()
        entry.long_name = strings.add(row.name)
        entry.short_name = row.letter?.asciiValue.map(gchar.init) ?? 0
        if row.isAlias { entry.flags = gint(G_OPTION_FLAG_HIDDEN.rawValue) }
        entry.arg_data = UnsafeMutableRawPointer(cell)
        entry.description = strings.add(row.help)
        switch row.target {
        case .flag:
            entry.arg = G_OPTION_ARG_NONE
        case .option(_, let valueName):
            // FILENAME returns the original bytes; STRING would convert them from the locale's encoding and reject "ä"
            // in the C locale.
            entry.arg = G_OPTION_ARG_FILENAME_ARRAY
            entry.arg_description = strings.add(valueName)
        }
        return entry
    }

    private func collect(_ cell: UnsafeMutablePointer<gpointer?>, into target: Target) {
        switch target {
        case .flag(let flag):
            flag.isSet = cell.withMemoryRebound(to: gboolean.self, capacity: 1) { $0.pointee != 0 }
        case .option(let option, _):
            guard let vector = cell.pointee?.assumingMemoryBound(to: UnsafeMutablePointer<gchar>?.self) else { return }
            defer { g_strfreev(vector) }
            var next = vector
            while let text = next.pointee {
                option.values.append(String(cString: text))
                next += 1
            }
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
    static func vector(_ texts: [String]) -> UnsafeMutablePointer<UnsafeMutablePointer<gchar>?>? {
        let size = (texts.count + 1) * MemoryLayout<UnsafeMutablePointer<gchar>?>.stride
        let vector = g_malloc0(gsize(size))?.assumingMemoryBound(to: UnsafeMutablePointer<gchar>?.self)
        for (index, text) in texts.enumerated() { vector?[index] = g_strdup(text) }
        return vector
    }
}

/// A reason for not starting a command.
enum ArgumentError: Error {
    /// `--help` was given; the text of the help.
    case help(String)
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
    static func question(about word: String, among candidates: [String], prefix: String = "") -> String {
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
