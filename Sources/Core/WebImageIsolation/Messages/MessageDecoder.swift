internal import FoundationEssentials
internal import WebImageCore

/// A message that does not make sense.
package struct InvalidMessage: Error, Equatable {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

/// Reads what a ``MessageEncoder`` wrote. No length is believed: each is checked against the bytes that are there.
///
/// All bytes from a decoder process are hostile input, because a file may have taken it over. All its numbers pass through ``integer()`` and
/// ``double()``, so that arithmetic with them cannot overflow: the sum or difference of some, or a small multiple. What values mean is
/// checked in ``DecoderReply``.
package final class MessageDecoder {
    /// The sender of a message.
    package enum Sender: Sendable { case program, process }

    private let bytes: [UInt8]
    private let sender: Sender
    private var offset = 0

    private init(_ bytes: [UInt8], from sender: Sender) { (self.bytes, self.sender) = (bytes, sender) }

    /// Returns the value of a message.
    package static func value<Value: Decodable>(
        of bytes: [UInt8], from sender: Sender
    ) throws(InvalidMessage) -> Value {
        let decoder = MessageDecoder(bytes, from: sender)
        do {
            let value = try decoder.read(Value.self)
            guard decoder.remainingCount == 0 else {
                throw InvalidMessage("it is \(decoder.remainingCount) bytes too long")
            }
            return value
        } catch let error as InvalidMessage {
            throw error
        } catch {
            // Of the standard library: there is no such case of an enum.
            throw InvalidMessage("there is no such \(Value.self)")
        }
    }

    fileprivate var remainingCount: Int { bytes.count - offset }

    fileprivate func read<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let value: Any? =
            if type == Int.self {
                try integer()
            } else if type == Int32.self {
                Int32(clamping: try integer())
            } else if type == Double.self {
                try double()
            } else if type == Bool.self {
                try boolean()
            } else if type == UInt8.self {
                try byte()
            } else if type == String.self {
                try text()
            } else if type == Data.self {
                Data(try content())
            } else if type == Duration.self {
                try duration()
            } else if type == ImageFormat.self {
                try format()
            } else {
                nil
            }
        return try value as? Value ?? Value(from: self)
    }

    private func take(_ count: Int) throws(InvalidMessage) -> ArraySlice<UInt8> {
        guard (0...remainingCount).contains(count) else { throw InvalidMessage("it ends early") }
        defer { offset += count }
        return bytes[offset..<offset + count]
    }

    private func byte() throws(InvalidMessage) -> UInt8 {
        guard remainingCount > 0 else { throw InvalidMessage("it ends early") }
        defer { offset += 1 }
        return bytes[offset]
    }

    private func word() throws(InvalidMessage) -> UInt64 {
        guard remainingCount >= 8 else { throw InvalidMessage("it ends early") }
        defer { offset += 8 }
        return bytes.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
    }

    fileprivate func integer() throws(InvalidMessage) -> Int {
        let value = Int(truncatingIfNeeded: try word())
        return sender == .program ? value : min(max(value, -Self.largestInteger), Self.largestInteger)
    }

    /// The limit of an integer from a process: far more than any length, and far from the end of the type.
    static let largestInteger = 1 << 53

    private func double() throws(InvalidMessage) -> Double {
        let value = Double(bitPattern: try word())
        guard sender == .program || value.isFinite else { throw InvalidMessage("a number is not finite") }
        return value
    }

    private func duration() throws(InvalidMessage) -> Duration {
        let (seconds, attoseconds) = (try integer(), Int64(truncatingIfNeeded: try word()))
        guard attoseconds.magnitude < 1_000_000_000_000_000_000 else {
            throw InvalidMessage("a fraction of a second is longer than it")
        }
        return Duration(secondsComponent: Int64(seconds), attosecondsComponent: attoseconds)
    }

    fileprivate func boolean() throws(InvalidMessage) -> Bool {
        switch try byte() {
        case 0: false
        case 1: true
        default: throw InvalidMessage("a truth value is neither 0 nor 1")
        }
    }

    private func content() throws(InvalidMessage) -> ArraySlice<UInt8> { try take(Int(truncatingIfNeeded: word())) }

    /// Texts of libraries, and of what a hostile file made of them, are cut. The program escapes them where it prints them, as it does
    /// with any text from a file.
    private func text() throws(InvalidMessage) -> String {
        let content = try content()
        guard sender == .process else { return String(decoding: content, as: UTF8.self) }
        return String(String(decoding: content.prefix(Self.longestText * 4), as: UTF8.self).prefix(Self.longestText))
    }

    private static let longestText = 300

    fileprivate func name() throws(InvalidMessage) -> String { String(decoding: try content(), as: UTF8.self) }

    private func format() throws(InvalidMessage) -> ImageFormat {
        let name = try name()
        guard let format = ImageFormat.known.first(where: { $0.name == name }) else {
            throw InvalidMessage("there is no format '\(name.prefix(20))'")
        }
        return format
    }

    /// Reads the number of elements, each of which has a byte at least.
    fileprivate func elementCount() throws(InvalidMessage) -> Int {
        let count = Int(truncatingIfNeeded: try word())
        guard (0...remainingCount).contains(count) else { throw InvalidMessage("it ends early") }
        return count
    }
}

extension MessageDecoder: Decoder {
    package var codingPath: [any CodingKey] { [] }
    package var userInfo: [CodingUserInfoKey: Any] { [:] }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Properties(decoder: self))
    }

    package func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        Elements(decoder: self, elementCount: try elementCount())
    }

    package func singleValueContainer() -> any SingleValueDecodingContainer { Single(decoder: self) }
}

private struct Properties<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: MessageDecoder
    var codingPath: [any CodingKey] { [] }

    /// The case of an enum. Structs do not ask for it.
    var allKeys: [Key] { (try? decoder.name()).flatMap(Key.init(stringValue:)).map { [$0] } ?? [] }

    func contains(_ key: Key) -> Bool { true }
    func decodeNil(forKey key: Key) throws -> Bool { try !decoder.boolean() }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try decoder.read(type) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> { decoder.container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder.unkeyedContainer()
    }
    func superDecoder() throws -> any Decoder { decoder }
    func superDecoder(forKey key: Key) throws -> any Decoder { decoder }
}

private struct Elements: UnkeyedDecodingContainer {
    let decoder: MessageDecoder
    let elementCount: Int
    private(set) var currentIndex = 0
    var codingPath: [any CodingKey] { [] }
    /// Not told, because memory would be reserved for it.
    var count: Int? { nil }
    var isAtEnd: Bool { currentIndex >= elementCount }

    init(decoder: MessageDecoder, elementCount: Int) { (self.decoder, self.elementCount) = (decoder, elementCount) }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard !isAtEnd else { throw InvalidMessage("it ends early") }
        currentIndex += 1
        return try decoder.read(type)
    }

    func decodeNil() throws -> Bool { false }
    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
        decoder.container(keyedBy: type)
    }
    func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try decoder.unkeyedContainer() }
    func superDecoder() throws -> any Decoder { decoder }
}

/// The single value of an enum with raw values.
private struct Single: SingleValueDecodingContainer {
    let decoder: MessageDecoder
    var codingPath: [any CodingKey] { [] }

    func decode(_ type: Int.Type) throws -> Int { try decoder.integer() }
    func decode(_ type: String.Type) throws -> String { try decoder.name() }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { throw InvalidMessage("no message has \(type)") }
    func decodeNil() -> Bool { false }
}
