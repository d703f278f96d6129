internal import WebImageCore

/// Reads the options of a path into a recipe.
struct OptionReader {
    var recipe = Recipe()
    var delivery = Delivery()
    let presets: Presets
    /// The bound that the option `autoquality` changes.
    let qualityBound: ImageService.QualityBound
    /// The text between the arguments of an option.
    let separator: String
    let allowsLimits: Bool
    /// The presets that are being read, so that none contains itself.
    private var openPresets: [String] = []

    init(presets: Presets, _ configuration: ImageService.Configuration = ImageService.Configuration()) {
        self.presets = presets
        qualityBound = configuration.qualityBound ?? configuration.optionQualityBound
        recipe.qualityBound = configuration.qualityBound
        separator = configuration.argumentSeparator.isEmpty ? ":" : configuration.argumentSeparator
        allowsLimits = configuration.allowsLimitOptions
    }

    /// Reads the options at the beginning of the parts. Returns how many there are: the source is behind them.
    mutating func readOptions(_ parts: [Substring]) throws(Refusal) -> Int {
        if presets.isOnlySource {
            // The first part names presets.
            guard let names = parts.first, parts.count > 1 else { throw .invalid("The path has no source.") }
            try apply(presets: names.split(separator: separator, omittingEmptySubsequences: false))
            return 1
        }
        var count = 0
        while count < parts.count, parts[count] != "plain", parts[count].contains(separator) {
            try read(parts[count])
            count += 1
        }
        return count
    }

    /// Reads an option with its arguments.
    mutating func read(_ text: Substring) throws(Refusal) {
        let words = text.split(separator: separator, omittingEmptySubsequences: false)
        let arguments = OptionArguments(String(words[0]), words.dropFirst())
        guard let option = Self.options[arguments.name] else {
            throw .invalid("There is no option '\(arguments.name)'.")
        }
        try option(&self, arguments)
    }

    /// Reads the options of presets.
    mutating func apply(presets names: [Substring]) throws(Refusal) {
        for name in names where !name.isEmpty {
            guard let options = presets.options(of: String(name)) else {
                throw .invalid("There is no preset '\(name)'.")
            }
            guard !openPresets.contains(String(name)) else { throw .invalid("The preset '\(name)' contains itself.") }
            openPresets.append(String(name))
            for option in options { try read(option) }
            openPresets.removeLast()
        }
    }

    typealias Option = @Sendable (inout OptionReader, OptionArguments) throws(Refusal) -> Void

    /// All options by their names. An option that is not here is refused.
    static let options: [String: Option] = {
        var all: [String: Option] = [:]
        for (names, option) in sizeOptions + pixelOptions + fileOptions + limitOptions {
            for name in names { all[name] = option }
        }
        return all
    }()
}

/// The arguments of an option.
struct OptionArguments {
    let name: String
    private let values: [Substring]

    init(_ name: String, _ values: some Sequence<Substring>) { (self.name, self.values) = (name, Array(values)) }

    var count: Int { values.count }

    /// Returns an argument; `nil` for one that is missing or empty, which leaves a value as it is.
    func text(_ index: Int) -> String? { index < values.count && !values[index].isEmpty ? String(values[index]) : nil }

    func checkCount(_ range: ClosedRange<Int>) throws(Refusal) {
        guard range.contains(count) else { throw .invalid("The option '\(name)' does not take \(count) arguments.") }
    }

    /// Arguments behind some of these.
    func dropFirst(_ count: Int) -> OptionArguments { OptionArguments(name, values.dropFirst(count)) }

    func invalid(_ index: Int) -> Refusal { .invalid("The option '\(name)' cannot be '\(text(index) ?? "")'.") }

    func integer(_ index: Int, in range: ClosedRange<Int>) throws(Refusal) -> Int? {
        guard let text = text(index) else { return nil }
        guard let value = Int(text), range.contains(value) else { throw invalid(index) }
        return value
    }

    func number(_ index: Int, in range: ClosedRange<Double>) throws(Refusal) -> Double? {
        guard let text = text(index) else { return nil }
        // Double also reads hexadecimal and names of numbers.
        let isDecimal = text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E || $0 == 0x2D }
        guard isDecimal, let value = Double(text), range.contains(value) else { throw invalid(index) }
        return value
    }

    func flag(_ index: Int) throws(Refusal) -> Bool? {
        switch text(index) {
        case nil: nil
        case "1", "t", "true", "T", "TRUE", "True": true
        case "0", "f", "false", "F", "FALSE", "False": false
        default: throw invalid(index)
        }
    }

    func word<Word: RawRepresentable<String>>(_ index: Int, _ type: Word.Type) throws(Refusal) -> Word? {
        guard let text = text(index) else { return nil }
        guard let word = Word(rawValue: text) else { throw invalid(index) }
        return word
    }

    /// A color as `rrggbb` or `rgb`, at one index.
    func hexColor(_ index: Int) throws(Refusal) -> Color? {
        guard let text = text(index) else { return nil }
        let digits = text.count == 3 ? text.map { "\($0)\($0)" }.joined() : text
        guard let bytes = SigningKey.bytes(inHex: digits), bytes.count == 3 else { throw invalid(index) }
        return Color(bytes: bytes.map { Int($0) })
    }
}

extension Color {
    init(bytes: [Int]) {
        self.init(red: Double(bytes[0]) / 255, green: Double(bytes[1]) / 255, blue: Double(bytes[2]) / 255)
    }
}
