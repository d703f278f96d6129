internal import FoundationEssentials
internal import WebImageCore

/// Writes values into a message, one after the other and without keys: both ends are of the same build.
///
/// | value | bytes |
/// |---|---|
/// | `Bool`, `UInt8`, whether there is an optional | 1 |
/// | other integers, `Double` | 8, little-endian |
/// | text, bytes, the name of an enum's case, the name of an image format | the length, then the bytes |
/// | arrays, sets, dictionaries | the number of elements, then the elements |
/// | structs, enums | the properties and associated values in their order |
///
/// Optionals are properties or associated values, not elements.
package final class MessageEncoder {
    private(set) var bytes: [UInt8] = []
    /// Where the parts of the message are; `nil` unless it is set to an empty array before. Tests change them.
    var parts: [Part]?

    struct Part: Equatable {
        enum Kind { case boolean, byte, integer, double, length, name, count }

        let kind: Kind
        let range: Range<Int>
    }

    init() {}

    /// Returns a message with one value.
    package static func bytes(of value: some Encodable) throws -> [UInt8] {
        let encoder = MessageEncoder()
        try encoder.write(value)
        return encoder.bytes
    }

    func write<Value: Encodable>(_ value: Value) throws {
        switch value {
        case let value as Int: write(value, .integer)
        case let value as Int32: write(Int(value), .integer)
        case let value as Double: write(Int(bitPattern: UInt(value.bitPattern)), .double)
        case let value as Bool: append([value ? 1 : 0], .boolean)
        case let value as UInt8: append([value], .byte)
        case let value as String: write(text: value, .length)
        case let value as Data: write(content: value, .length)
        case let value as Duration: write(value.components)
        case let value as ImageFormat: write(text: value.name, .name)
        default: try value.encode(to: self)
        }
    }

    fileprivate func write(_ value: Int, _ kind: Part.Kind) {
        withUnsafeBytes(of: Int64(value).littleEndian) { append($0, kind) }
    }

    fileprivate func write(text: String, _ kind: Part.Kind) { write(content: text.utf8, kind) }

    private func write(content: some Collection<UInt8>, _ kind: Part.Kind) {
        write(content.count, kind)
        bytes.append(contentsOf: content)
    }

    private func write(_ components: (seconds: Int64, attoseconds: Int64)) {
        write(Int(components.seconds), .integer)
        write(Int(components.attoseconds), .integer)
    }

    private func append(_ content: some Collection<UInt8>, _ kind: Part.Kind) {
        parts?.append(Part(kind: kind, range: bytes.count..<bytes.count + content.count))
        bytes.append(contentsOf: content)
    }

    /// Replaces the number of elements, which is known when they are written.
    fileprivate func setCount(_ count: Int, at offset: Int) {
        withUnsafeBytes(of: Int64(count).littleEndian) { bytes.replaceSubrange(offset..<offset + 8, with: $0) }
    }
}

extension MessageEncoder: Encoder {
    package var codingPath: [any CodingKey] { [] }
    package var userInfo: [CodingUserInfoKey: Any] { [:] }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(Properties(encoder: self))
    }

    package func unkeyedContainer() -> any UnkeyedEncodingContainer {
        write(0, .count)
        return Elements(encoder: self, start: bytes.count - 8)
    }

    package func singleValueContainer() -> any SingleValueEncodingContainer { Single(encoder: self) }
}

private struct Properties<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: MessageEncoder
    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) throws { try encoder.write(false) }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try encoder.write(value) }

    // The library's own for these types write nothing for `nil`.
    func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try write(value) }
    func encodeIfPresent(_ value: String?, forKey key: Key) throws { try write(value) }
    func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try write(value) }
    func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try write(value) }
    func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws { try write(value) }

    private func write<Value: Encodable>(_ value: Value?) throws {
        try encoder.write(value != nil)
        if let value { try encoder.write(value) }
    }

    /// The case of an enum.
    func nestedContainer<Nested: CodingKey>(keyedBy: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
        encoder.write(text: key.stringValue, .name)
        return encoder.container(keyedBy: Nested.self)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { encoder.unkeyedContainer() }
    func superEncoder() -> any Encoder { encoder }
    func superEncoder(forKey key: Key) -> any Encoder { encoder }
}

private struct Elements: UnkeyedEncodingContainer {
    let encoder: MessageEncoder
    /// Where their number is.
    let start: Int
    private(set) var count = 0
    var codingPath: [any CodingKey] { [] }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        try encoder.write(value)
        count += 1
        encoder.setCount(count, at: start)
    }

    mutating func encodeNil() throws { throw MessageEncoder.noElement(nil as Bool?) }
    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        encoder.container(keyedBy: type)
    }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.unkeyedContainer() }
    func superEncoder() -> any Encoder { encoder }
}

/// The single value of an enum with raw values.
private struct Single: SingleValueEncodingContainer {
    let encoder: MessageEncoder
    var codingPath: [any CodingKey] { [] }

    func encode(_ value: Int) throws { try encoder.write(value) }
    func encode(_ value: String) throws { encoder.write(text: value, .name) }
    func encode<Value: Encodable>(_ value: Value) throws { throw MessageEncoder.noElement(value) }
    func encodeNil() throws { throw MessageEncoder.noElement(nil as Bool?) }
}

extension MessageEncoder {
    /// The error for a type that messages do not have.
    fileprivate static func noElement<Value>(_ value: Value) -> EncodingError {
        .invalidValue(value, EncodingError.Context(codingPath: [], debugDescription: "no message has \(Value.self)"))
    }
}
