internal import WebImageCore

/// The digits of a ``BlurHash``, each 0 to 82, the most significant of a number first.
struct Base83Digits: Sendable {
    private(set) var values: [UInt8] = []

    init() {}

    init(_ string: String) throws(WebImageError.PlaceholderHashFailure) {
        values.reserveCapacity(string.utf8.count)
        for (offset, byte) in string.utf8.enumerated() {
            // Nobody needs the values of more digits than the longest hash has.
            guard offset < Self.maximumCount else {
                throw .wrongLength(byteCount: string.utf8.count, expected: Self.maximumCount)
            }
            let value = Self.values[Int(byte)]
            guard value >= 0 else { throw .invalidCharacter(offset: offset) }
            values.append(UInt8(value))
        }
    }

    var count: Int { values.count }

    var string: String { String(decoding: values.map { Self.characters[Int($0)] }, as: UTF8.self) }

    /// The number in `count` digits from `offset`.
    func value(at offset: Int, count: Int) -> Int {
        values[offset..<offset + count].reduce(0) { $0 * 83 + Int($1) }
    }

    /// Adds a number in `count` digits.
    mutating func append(_ value: Int, count: Int) {
        var digits: [UInt8] = []
        var rest = value
        for _ in 0..<count {
            digits.append(UInt8(rest % 83))
            rest /= 83
        }
        values += digits.reversed()
    }

    /// The digits of a hash with 9 by 9 components.
    private static let maximumCount = 4 + 2 * 81

    private static let characters = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~".utf8)

    /// Of each byte, or -1.
    private static let values: [Int8] = {
        var values = [Int8](repeating: -1, count: 256)
        for (value, byte) in characters.enumerated() { values[Int(byte)] = Int8(value) }
        return values
    }()
}
