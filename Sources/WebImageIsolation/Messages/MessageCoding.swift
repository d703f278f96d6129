/// A value in a message between a program and its decoder processes.
///
/// Both ends are of the same build, so messages have no versions: the first message tells whether that is so. What a
/// decoder sends is hostile input, because a file may have taken the process over.
package protocol MessageValue {
    func write(to message: inout MessageWriter)
    init(from message: inout MessageReader) throws(InvalidMessage)
}

/// A message that does not make sense.
package struct InvalidMessage: Error {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }
}

/// Collects the bytes of a message. Integers are little-endian.
package struct MessageWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func write(byte: UInt8) { bytes.append(byte) }

    package mutating func write(_ value: Int) {
        withUnsafeBytes(of: Int64(value).littleEndian) { bytes.append(contentsOf: $0) }
    }

    package mutating func write(_ value: Double) { write(Int(bitPattern: UInt(value.bitPattern))) }

    package mutating func write(_ value: Bool) { write(byte: value ? 1 : 0) }

    package mutating func write(_ text: String) { write(bytes: Array(text.utf8)) }

    package mutating func write(bytes content: some Collection<UInt8>) {
        write(content.count)
        bytes.append(contentsOf: content)
    }

    package mutating func write(_ value: some MessageValue) { value.write(to: &self) }

    package mutating func write<Value>(_ value: Value?, _ body: (inout MessageWriter, Value) -> Void) {
        write(value != nil)
        if let value { body(&self, value) }
    }
}

/// Reads a message. No count in it is believed: each read is checked against the bytes that are there.
package struct MessageReader {
    private let bytes: [UInt8]
    private var offset = 0

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package var remainingCount: Int { bytes.count - offset }

    package mutating func byte() throws(InvalidMessage) -> UInt8 {
        guard offset < bytes.count else { throw InvalidMessage("it ends early") }
        defer { offset += 1 }
        return bytes[offset]
    }

    package mutating func int() throws(InvalidMessage) -> Int {
        guard remainingCount >= 8 else { throw InvalidMessage("it ends early") }
        var value: UInt64 = 0
        for index in (0..<8).reversed() { value = value << 8 | UInt64(bytes[offset + index]) }
        offset += 8
        return Int(truncatingIfNeeded: value)
    }

    /// Reads a count or a size.
    package mutating func count(atMost limit: Int) throws(InvalidMessage) -> Int {
        let value = try int()
        guard (0...limit).contains(value) else { throw InvalidMessage("\(value) is not between 0 and \(limit)") }
        return value
    }

    package mutating func double() throws(InvalidMessage) -> Double {
        Double(bitPattern: UInt64(UInt(bitPattern: try int())))
    }

    package mutating func bool() throws(InvalidMessage) -> Bool {
        switch try byte() {
        case 0: false
        case 1: true
        default: throw InvalidMessage("a truth value is neither 0 nor 1")
        }
    }

    package mutating func content() throws(InvalidMessage) -> [UInt8] {
        let count = try count(atMost: remainingCount)
        defer { offset += count }
        return Array(bytes[offset..<offset + count])
    }

    package mutating func text() throws(InvalidMessage) -> String { String(decoding: try content(), as: UTF8.self) }

    package mutating func optional<Value>(
        _ body: (inout MessageReader) throws(InvalidMessage) -> Value
    ) throws(InvalidMessage) -> Value? {
        try bool() ? try body(&self) : nil
    }

    package mutating func value<Value: MessageValue>() throws(InvalidMessage) -> Value { try Value(from: &self) }

    /// Throws if bytes are left.
    package func end() throws(InvalidMessage) {
        if remainingCount > 0 { throw InvalidMessage("it is \(remainingCount) bytes too long") }
    }
}
