public import FoundationEssentials
internal import Glibc

/// Text as the system has it, such as a path or an argument of a program: bytes, usually but not always UTF-8.
public struct SystemString: Sendable, Hashable {
    /// Without a zero at the end.
    public let bytes: [UInt8]

    /// Takes bytes.
    public init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    /// Takes the UTF-8 of a text.
    public init(_ text: String) { bytes = Array(text.utf8) }

    /// Copies a C string.
    public init(cString: UnsafePointer<CChar>) {
        bytes = Array(UnsafeRawBufferPointer(start: cString, count: strlen(cString)))
    }

    /// `nil` if the bytes are not UTF-8.
    public var text: String? { String(validating: bytes, as: UTF8.self) }

    /// Whether there are no bytes.
    public var isEmpty: Bool { bytes.isEmpty }

    /// Whether it begins with a text.
    public func hasPrefix(_ prefix: String) -> Bool { bytes.starts(with: prefix.utf8) }

    /// Whether it ends with a text.
    public func hasSuffix(_ suffix: String) -> Bool { bytes.reversed().starts(with: suffix.utf8.reversed()) }

    /// Returns one behind the other.
    public static func + (first: SystemString, second: SystemString) -> SystemString {
        SystemString(first.bytes + second.bytes)
    }

    /// Returns a text behind a string of the system.
    public static func + (first: SystemString, second: String) -> SystemString {
        SystemString(first.bytes + Array(second.utf8))
    }

    /// Calls `body` with the bytes and a zero, which are valid during the call.
    public func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        (bytes.map(CChar.init(bitPattern:)) + [0]).withUnsafeBufferPointer { buffer in
            // An array with an element has an address.
            body(buffer.baseAddress.unsafelyUnwrapped)
        }
    }

    /// A character, or a byte that is not part of one.
    public enum Piece: Sendable, Hashable {
        /// A character.
        case scalar(Unicode.Scalar)
        /// A byte that is not UTF-8.
        case byte(UInt8)
    }

    /// The characters, and the bytes between them that are not UTF-8.
    public var pieces: [Piece] {
        var pieces: [Piece] = []
        var (parser, rest, position) = (UTF8.ForwardParser(), bytes.makeIterator(), 0)
        while true {
            switch parser.parseScalar(from: &rest) {
            case .valid(let encoded):
                pieces.append(.scalar(UTF8.decode(encoded)))
                position += encoded.count
            case .error(let length):
                pieces += bytes[position..<(position + length)].map(Piece.byte)
                position += length
            case .emptyInput: return pieces
            }
        }
    }

    /// Joins pieces.
    public init(_ pieces: some Sequence<Piece>) {
        bytes = pieces.flatMap { piece in
            switch piece {
            case .scalar(let scalar): Array(String(Character(scalar)).utf8)
            case .byte(let byte): [byte]
            }
        }
    }
}

extension SystemString: CustomStringConvertible {
    /// The text for messages, in which `\xNN` stands for each byte that is not UTF-8.
    public var description: String {
        text ?? described { "\\x" + $0 }
    }

    /// The text, in which `%NN` stands for each byte that is not UTF-8.
    public var percentEncodingInvalidBytes: String {
        text ?? described { "%" + $0 }
    }

    private func described(_ describe: (_ digits: String) -> String) -> String {
        var text = ""
        for piece in pieces {
            switch piece {
            case .scalar(let scalar): text.unicodeScalars.append(scalar)
            case .byte(let byte): text += describe(String(byte, radix: 16, uppercase: true))
            }
        }
        return text
    }
}

extension SystemString {
    /// The path of a file on this machine; `nil` for a URL of anything else, since `file://host/…` is on another.
    public init?(fileURL url: URL) {
        // Foundation decodes only paths in UTF-8.
        let path = Self(percentEncodedPathOf: url).bytes
        guard url.isFileURL, ["", "localhost"].contains(url.host() ?? ""), path.first == UInt8(ascii: "/"),
            !path.contains(0)
        else { return nil }
        bytes = path
    }

    /// The path of a URL. A `%` that is not followed by two hexadecimal digits stays.
    public init(percentEncodedPathOf url: URL) {
        bytes = Array(PercentEncodedBytes(Array(url.path(percentEncoded: true).utf8)[...]))
    }

    /// The URL of the file with this path, which may be relative to the current directory.
    public var fileURL: URL {
        let path = hasPrefix("/") ? self : Self.currentDirectory + "/" + self
        let text = "file://" + path.bytes.percentEncoded(keeping: "!$&'()*+,=:@/")
        // Everything that is invalid in a path has been encoded.
        return URL(string: text) ?? URL(filePath: description)
    }

    private static var currentDirectory: SystemString {
        guard let path = getcwd(nil, 0) else { return SystemString("/proc/self/cwd") }
        defer { free(path) }
        return SystemString(cString: path)
    }
}
