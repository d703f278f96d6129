internal import Glibc

/// Reads the kernel's small text files.
package enum TextFile {
    /// Returns the text, at most 16 KiB; `nil` if the file cannot be read.
    package static func contents(_ path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    /// Returns the numbers of a file whose lines contain a name and a number, with or without a colon between them.
    package static func numbers(_ path: String) -> [String: Int] {
        var numbers: [String: Int] = [:]
        for line in contents(path)?.split(separator: "\n") ?? [] {
            let fields = line.split(whereSeparator: { $0 == " " || $0 == ":" })
            guard fields.count > 1, let number = Int(fields[1]) else { continue }
            numbers[String(fields[0])] = number
        }
        return numbers
    }
}
