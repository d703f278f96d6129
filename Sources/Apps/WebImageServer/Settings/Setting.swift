internal import FoundationEssentials
internal import ProgramSupport
internal import WebImageCore

/// A setting of the server: an option of the command line, an environment variable, and a line of a file.
struct Setting: Sendable {
    /// The option, without its dashes.
    let name: String
    /// The variable. Where it means the same as one of imgproxy, it has its name.
    let variable: String
    /// The placeholder of the value; `nil` for a flag, whose variable is `true` or `false`.
    let value: String?
    let group: LocalizableText
    let help: LocalizableText
    /// Sets the value.
    let apply: @Sendable (inout ServerSettings, String) throws(Invalid) -> Void

    /// Why a value cannot be set.
    struct Invalid: Error, CustomStringConvertible, Equatable {
        let description: String

        init(_ description: String) { self.description = description }
    }
}

/// Reads values.
enum SettingValue {
    static func number(_ text: String, in range: ClosedRange<Int>) throws(Setting.Invalid) -> Int {
        guard let value = Int(text), range.contains(value) else {
            throw Setting.Invalid("is a whole number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
        }
        return value
    }

    static func fraction(_ text: String, in range: ClosedRange<Double>) throws(Setting.Invalid) -> Double {
        guard let value = Double(text), range.contains(value) else {
            throw Setting.Invalid("is a number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
        }
        return value
    }

    static func flag(_ text: String) throws(Setting.Invalid) -> Bool {
        switch text.lowercased() {
        case "true", "1", "t", "yes", "on": true
        case "false", "0", "f", "no", "off", "": false
        default: throw Setting.Invalid("is true or false, not '\(text)'")
        }
    }

    /// The items between commas, without spaces around them.
    static func list(_ text: String) -> [String] {
        text.split(separator: ",").compactMap { item in
            guard let first = item.firstIndex(where: { !$0.isWhitespace }),
                let last = item.lastIndex(where: { !$0.isWhitespace })
            else { return nil }
            return String(item[first...last])
        }
    }

    /// Qualities of lossy formats, such as `webp=79,avif=63`.
    static func formatQualities(_ text: String) throws(Setting.Invalid) -> [ImageFormat: Int] {
        let formats: [Substring: ImageFormat] = [
            "jpeg": .jpeg, "jpg": .jpeg, "webp": .webp, "avif": .avif, "jxl": .jpegXL,
        ]
        var qualities: [ImageFormat: Int] = [:]
        for item in list(text) {
            let parts = item.split(separator: "=")
            guard parts.count == 2, let format = formats[parts[0]] else {
                throw Setting.Invalid("is a list such as webp=79,avif=63, not '\(text)'")
            }
            qualities[format] = try number(String(parts[1]), in: 1...100)
        }
        return qualities
    }

    /// A number of bytes, with `K`, `M` or `G` for powers of 1024.
    static func byteCount(_ text: String) throws(Setting.Invalid) -> Int {
        let shift = text.last.flatMap { ["K": 10, "M": 20, "G": 30][$0.uppercased()] }
        let digits = shift == nil ? text[...] : text.dropLast()
        guard let number = Int(digits), number >= 0, number <= 1 << 31 else {
            throw Setting.Invalid("is a number of bytes, such as 500M, not '\(text)'")
        }
        return number << (shift ?? 0)
    }

    static func file(_ path: String) throws(Setting.Invalid) -> Data {
        guard let data = try? Data(contentsOf: URL(filePath: path)) else {
            throw Setting.Invalid("names a file that cannot be read: '\(path)'")
        }
        return data
    }

    static func base64(_ text: String) throws(Setting.Invalid) -> Data {
        guard let data = Data(base64Encoded: text) else { throw Setting.Invalid("is base64") }
        return data
    }
}
