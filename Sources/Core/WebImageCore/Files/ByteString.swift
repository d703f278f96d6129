package import FoundationEssentials
internal import Glibc

/// Text as the system has it, such as a path or an argument of a program: bytes, usually but not always UTF-8.
package struct ByteString: Sendable, Hashable {
    /// Without a zero at the end.
    package let bytes: [UInt8]

    package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    package init(_ text: String) { bytes = Array(text.utf8) }

    /// Copies a C string.
    package init(cString: UnsafePointer<CChar>) {
        bytes = Array(UnsafeRawBufferPointer(start: cString, count: strlen(cString)))
    }

    /// `nil` if the bytes are not UTF-8.
    package var text: String? { String(validating: bytes, as: UTF8.self) }

    package var isEmpty: Bool { bytes.isEmpty }

    package func hasPrefix(_ prefix: String) -> Bool { bytes.starts(with: prefix.utf8) }

    package func hasSuffix(_ suffix: String) -> Bool { bytes.reversed().starts(with: suffix.utf8.reversed()) }

    package static func + (first: ByteString, second: ByteString) -> ByteString {
        ByteString(first.bytes + second.bytes)
    }

    package static func + (first: ByteString, second: String) -> ByteString {
        ByteString(first.bytes + Array(second.utf8))
    }

    package func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        (bytes.map(CChar.init(bitPattern:)) + [0]).withUnsafeBufferPointer { buffer in
            // An array with an element has an address.
            body(buffer.baseAddress.unsafelyUnwrapped)
        }
    }

}

extension ByteString: CustomStringConvertible {
    /// The text for messages, in which `\xNN` stands for each byte that is not UTF-8.
    package var description: String {
        if let text { return text }
        var (text, parser, rest, position) = ("", UTF8.ForwardParser(), bytes.makeIterator(), 0)
        while true {
            switch parser.parseScalar(from: &rest) {
            case .valid(let encoded):
                text.unicodeScalars.append(UTF8.decode(encoded))
                position += encoded.count
            case .error(let length):
                for byte in bytes[position..<(position + length)] {
                    text += "\\x" + String(byte, radix: 16, uppercase: true)
                }
                position += length
            case .emptyInput: return text
            }
        }
    }
}

extension ByteString {
    /// The path of a file on this machine; `nil` for a URL of anything else, since `file://host/…` is on another.
    package init?(fileURL url: URL) {
        // Foundation decodes only paths in UTF-8.
        let path = Array(PercentEncodedBytes(Array(url.path(percentEncoded: true).utf8)[...]))
        guard url.isFileURL, ["", "localhost"].contains(url.host() ?? ""), path.first == UInt8(ascii: "/"),
            !path.contains(0)
        else { return nil }
        bytes = path
    }

    /// The URL of the file with this path, which may be relative to the current directory.
    package var fileURL: URL {
        let path = hasPrefix("/") ? self : Self.currentDirectory + "/" + self
        var text = "file://"
        for byte in path.bytes {
            if Self.isUnencoded(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        // Everything that is invalid in a path has been encoded.
        return URL(string: text) ?? URL(filePath: description)
    }

    private static var currentDirectory: ByteString {
        guard let path = getcwd(nil, 0) else { return ByteString("/proc/self/cwd") }
        defer { free(path) }
        return ByteString(cString: path)
    }

    private static func isUnencoded(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "-._~!$&'()*+,=:@/".utf8.contains(byte)
        }
    }
}
