internal import FoundationEssentials
internal import Glibc
internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// Parsers for option values. Each throws a usage error with the name of the option and its valid values.
extension OptionParser {
    /// Checks the use of standard input and output by a command.
    ///
    /// - Parameters:
    ///   - output: the destination of the image; `nil` for none.
    ///   - texts: the options that print to standard output, too, and whether they are given.
    func checkStreams(
        inputs: [SystemString], output: SystemString?, printing texts: [(name: String, isGiven: Bool)]
    ) throws(ArgumentError) {
        guard inputs.count(where: { $0 == ImageInput.standardInput }) <= 1 else {
            throw error("standard input ('-') can be read only once")
        }
        guard output == OutputFile.standardOutput else { return }
        if inputs.count > 1 { throw error("standard output ('-') takes one image; name a directory") }
        if let text = texts.first(where: \.isGiven) {
            throw error("--\(text.name) prints to standard output, where the image is written; name a file")
        }
        if isatty(STDOUT_FILENO) == 1 {
            throw error("will not write an image to a terminal; name a file, or redirect the output")
        }
    }

    /// An input of a command that loads URLs and files.
    func input(_ argument: SystemString) throws(ArgumentError) -> ImageInput {
        do throws(WebImageError) {
            return try ImageInput(argument)
        } catch {
            throw self.error(error.shellText(about: argument.description))
        }
    }

    /// The path of a directory or file for a library that takes only UTF-8.
    func text(of option: Option, content: LocalizableText) throws(ArgumentError) -> String? {
        guard let path = option.path else { return nil }
        if path.isEmpty { throw error("--\(option.name) takes \(content)") }
        guard let text = path.text else {
            throw error("--\(option.name) takes \(content) whose path is UTF-8, not '\(path)'")
        }
        return text
    }

    /// Parses the name of a format that can be written.
    func writableFormat(_ option: Option) throws(ArgumentError) -> ImageFormat? {
        guard let text = option.value else { return nil }
        guard let format = ImageFormat(named: text), ImageFormat.writable.contains(format) else {
            throw error("--format takes \(ImageFormat.writableNames), not '\(text)'")
        }
        return format
    }

    /// Parses a percentage: 0 to 100 on the command line, 0 to 1 in the library.
    func percentage(_ option: Option) throws(ArgumentError) -> Double? {
        guard let text = option.value else { return nil }
        guard let percent = Double(text), (0...100).contains(percent) else {
            throw error("--\(option.name) takes a number from 0 to 100, not '\(text)'")
        }
        return percent / 100
    }

    /// Parses one of several words.
    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ option: Option
    ) throws(ArgumentError) -> Choice? {
        guard let text = option.value else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let names = LocalizableText.anyOf(Choice.allCases.map(\.rawValue))
            throw error("--\(option.name) takes \(names), not '\(text)'")
        }
        return choice
    }

    /// Parses `#rrggbb`, or with alpha `#rrggbbaa`. The `#` is optional, since shells treat it as a comment.
    func color(
        _ option: Option, mayHaveAlpha: Bool = false
    ) throws(ArgumentError) -> Color? {
        guard let text = option.value else { return nil }
        let digits = text.hasPrefix("#") ? text.dropFirst() : text[...]
        let hasAlpha = mayHaveAlpha && digits.utf8.count == 8
        guard hasAlpha || digits.utf8.count == 6, digits.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let number = Int(hasAlpha ? digits : digits + "ff", radix: 16)
        else {
            throw error(
                mayHaveAlpha
                    ? "--\(option.name) takes a color as #rrggbb or #rrggbbaa, not '\(text)'"
                    : "--\(option.name) takes a color as #rrggbb, not '\(text)'")
        }
        func level(_ shift: Int) -> Double { Double(number >> shift & 0xFF) / 255 }
        return Color(red: level(24), green: level(16), blue: level(8), alpha: level(0))
    }

    /// Parses a number, with or without a fraction.
    func number(_ option: Option, in range: ClosedRange<Double>) throws(ArgumentError) -> Double? {
        guard let text = option.value else { return nil }
        guard let number = Double(text), range.contains(number) else {
            let (lowest, highest) = (Int(range.lowerBound), Int(range.upperBound))
            throw error("--\(option.name) takes a number from \(lowest) to \(highest), not '\(text)'")
        }
        return number
    }

    func count(_ option: Option, in range: ClosedRange<Int>) throws(ArgumentError) -> Int? {
        guard let text = option.value else { return nil }
        guard let count = Int(text), range.contains(count) else {
            throw error(
                "--\(option.name) takes a number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
        }
        return count
    }

    /// Parses the sides of icons: numbers from 1 to 256, with commas.
    func sides(_ option: Option) throws(ArgumentError) -> [Int]? {
        guard let text = option.value else { return nil }
        let sides = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
        guard sides.allSatisfy((1...256).contains) else {
            throw error("--\(option.name) takes numbers from 1 to 256, such as 16,32,48, not '\(text)'")
        }
        return sides
    }

    /// Parses `NAME:PASSWORD`; the password may contain colons and may be empty.
    func credential(_ option: Option) throws(ArgumentError) -> Credential? {
        guard let text = option.value else { return nil }
        guard let colon = text.firstIndex(of: ":") else { throw error("--user takes NAME:PASSWORD") }
        return Credential(username: String(text[..<colon]), password: String(text[text.index(after: colon)...]))
    }

    /// Parses a positive number of seconds.
    func seconds(
        _ option: Option, atMost longest: Double = 86_400
    ) throws(ArgumentError) -> Duration? {
        guard let text = option.value else { return nil }
        guard let seconds = Double(text), seconds > 0, seconds <= longest else {
            let most: LocalizableText = longest == 86_400 ? "a day" : "\(Int(longest))"
            throw error("--\(option.name) takes seconds, more than 0 and at most \(most), not '\(text)'")
        }
        return .seconds(seconds)
    }

    /// Parses a number of days.
    func days(_ option: Option) throws(ArgumentError) -> Duration? {
        guard let text = option.value else { return nil }
        guard let days = Double(text), (0...100_000).contains(days) else {
            throw error("--\(option.name) takes a number of days, such as 0.5 or 30, not '\(text)'")
        }
        return .seconds(days * 86_400)
    }

    /// Parses fields in the form `Name: value`. If names are equal, ignoring case (RFC 9110, 5.1), the last one is
    /// used.
    func headers(_ option: Option) throws(ArgumentError) -> [String: String] {
        var headers: [String: String] = [:]
        for text in option.values {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = parts.first, isToken(name) else {
                throw error("--header takes 'Name: value', not '\(text)'")
            }
            let value = parts[1].drop { $0 == " " || $0 == "\t" }
            guard !value.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\t" || $0.value == 0x7F }) else {
                throw error("--header \(name): the value contains a control character")
            }
            headers = headers.filter { $0.key.lowercased() != name.lowercased() }
            headers[String(name)] = String(value)
        }
        return headers
    }

    /// Parses names of fields.
    func headerNames(_ option: Option) throws(ArgumentError) -> [String] {
        for text in option.values where !isToken(text[...]) || text == "*" {
            throw error("--\(option.name) takes the name of a header, such as X-Client-Version, not '\(text)'")
        }
        return option.values
    }

    /// Whether the text is a token (RFC 9110, 5.6.2).
    private func isToken(_ text: Substring) -> Bool {
        let marks = Set("!#$%&'*+-.^_`|~".unicodeScalars)
        return !text.isEmpty
            && text.unicodeScalars.allSatisfy { scalar in
                scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
                    || marks.contains(scalar)
            }
    }
}

extension ImageFormat {
    /// The formats that can be written.
    static var writable: [ImageFormat] { CodecRegistry.shared.writableFormats }

    /// For example `jpeg, png or webp`.
    static var writableNames: LocalizableText { .anyOf(writable.map(\.name)) }
}
