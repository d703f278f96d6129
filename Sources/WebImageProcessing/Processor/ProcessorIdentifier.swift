/// The name of a processor and its parameters, in a text that no other processor has.
///
/// ```
/// roundedCorners(radius:12,corners:all)
/// ```
///
/// What could be taken for punctuation is written as in URLs, `%2C` for a comma, so that no parameter's value can pass for
/// other parameters. Numbers are written with as many digits as tell them from every other.
public struct ProcessorIdentifier: Sendable, Hashable, CustomStringConvertible {
    /// The text.
    public let description: String

    /// Makes an identifier.
    ///
    /// - Parameters:
    ///   - name: what the processor does. One of your own needs a name that nobody else has taken, such as
    ///     `org.example.sepia`.
    ///   - parameters: everything the result depends on.
    public init(_ name: String, _ parameters: KeyValuePairs<String, any ProcessorParameter> = [:]) {
        let values = parameters.map { "\(Self.escaped($0.key)):\($0.value.identifierValue)" }
        description = Self.escaped(name) + (values.isEmpty ? "" : "(\(values.joined(separator: ",")))")
    }

    /// The identifier of processors that run one after the other; `original` for none.
    ///
    /// It does not tell how they were grouped, since that makes no difference.
    public init(chain identifiers: [ProcessorIdentifier]) {
        let steps = identifiers.filter { $0 != .identity }
        description = steps.isEmpty ? Self.identity.description : steps.map(\.description).joined(separator: "|")
    }

    /// Leaves a picture as it is.
    public static let identity = ProcessorIdentifier("original")

    /// Letters, digits and what is no punctuation here stay; every other byte becomes `%` and two digits.
    static func escaped(_ text: String) -> String {
        guard !text.utf8.allSatisfy(isPlain) else { return text }
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if isPlain(byte) {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(hexDigits[Int(byte >> 4)])
                bytes.append(hexDigits[Int(byte & 15)])
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let hexDigits = Array("0123456789ABCDEF".utf8)

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default:
            false
        }
    }
}
