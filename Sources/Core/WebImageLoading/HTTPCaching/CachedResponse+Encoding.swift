public import FoundationEssentials

/// The form in which a response is stored with its body.
///
/// | bytes | |
/// |---|---|
/// | 0–2 | "WHR" |
/// | 3 | version, 1 |
/// | 4 | flags, see `Flags` |
/// | 5–6 | status |
/// | 7–14 | body number |
/// | 15–22, 23–30 | times of request and response: seconds since 2001, IEEE 754 doubles |
/// | 31–38 | lifetime by redirects in seconds, a double; infinite for no limit |
/// | 39 | slots of alternates, a bit each |
/// | 40– | number of fields, then name and value of each; number of varying fields, then name, a byte that says whether there is a value, value; the final URL where there were redirects |
///
/// Numbers are little-endian: two bytes unless stated, four for the length of a value. Texts are UTF-8 after their
/// length. Reading takes one or two microseconds, less than JSON.
extension CachedResponse {
    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let isInvalidated = Flags(rawValue: 1)
        static let isReusable = Flags(rawValue: 2)
        static let lacksBody = Flags(rawValue: 4)
        static let redirectsRequireValidation = Flags(rawValue: 8)
        static let isRewritten = Flags(rawValue: 16)
    }

    /// The valid times, from the year 1700 to 2300. Ages computed from others could overflow.
    private static let times = -1e10...1e10

    private static let signature: [UInt8] = Array("WHR".utf8) + [1]

    /// The form in which a disk cache stores it with the bytes of the body.
    public var encoded: Data {
        var writer = ByteWriter(bytes: Self.signature)
        var flags: Flags = []
        if isInvalidated { flags.insert(.isInvalidated) }
        if isReusable { flags.insert(.isReusable) }
        if lacksBody { flags.insert(.lacksBody) }
        if redirectsRequireValidation { flags.insert(.redirectsRequireValidation) }
        if isRewritten { flags.insert(.isRewritten) }
        writer.write(flags.rawValue)
        writer.write(UInt16(clamping: statusCode))
        writer.write(bodyNumber)
        writer.write(requestTime.timeIntervalSinceReferenceDate.bitPattern)
        writer.write(responseTime.timeIntervalSinceReferenceDate.bitPattern)
        writer.write((redirectLifetime ?? .infinity).bitPattern)
        writer.write(alternates.reduce(UInt8(0)) { $0 | 1 << UInt8(clamping: $1) })
        let headers = self.headers.prefix(Int(UInt16.max))
        writer.write(UInt16(headers.count))
        for field in headers {
            writer.write(name: field.name)
            writer.write(value: field.value)
        }
        let names = varyingFields.keys.sorted().prefix(Int(UInt16.max))
        writer.write(UInt16(names.count))
        for name in names {
            let value = varyingFields[name].flatMap { $0 }
            writer.write(name: name)
            writer.write(UInt8(value == nil ? 0 : 1))
            if let value { writer.write(value: value) }
        }
        if let finalURL { writer.write(value: finalURL) }
        return Data(writer.bytes)
    }

    /// Reads ``encoded``; `nil` for no data, other data, another version, or damaged data.
    public init?(encoded: Data?) {
        let response: CachedResponse? = encoded?.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return Self.read(&reader)
        }
        guard let response else { return nil }
        self = response
    }

    private static func read(_ reader: inout ByteReader) -> CachedResponse? {
        guard reader.skip(Self.signature), let flags = reader.read(UInt8.self).map(Flags.init),
            let statusCode = reader.read(UInt16.self), let bodyNumber = reader.read(UInt64.self),
            let requestTime = reader.readDouble(), let responseTime = reader.readDouble(),
            let redirectLifetime = reader.readDouble(), let slots = reader.read(UInt8.self),
            let fieldCount = reader.read(UInt16.self), Self.times.contains(requestTime),
            Self.times.contains(responseTime), redirectLifetime == .infinity || (0...1e10).contains(redirectLifetime)
        else { return nil }
        var headers: [HTTPHeader] = []
        // A field takes six bytes at least.
        headers.reserveCapacity(min(Int(fieldCount), reader.remainingByteCount / 6))
        for _ in 0..<fieldCount {
            guard let name = reader.readName(), let value = reader.readValue() else { return nil }
            headers.append(HTTPHeader(name: name, value: value))
        }
        var varyingFields: [String: String?] = [:]
        guard let varyingCount = reader.read(UInt16.self) else { return nil }
        for _ in 0..<varyingCount {
            guard let name = reader.readName(), let hasValue = reader.read(UInt8.self) else { return nil }
            let value = hasValue == 0 ? nil : reader.readValue()
            guard hasValue == 0 || value != nil else { return nil }
            varyingFields[name] = .some(value)
        }
        let hasFinalURL = !reader.isAtEnd
        let finalURL = hasFinalURL ? reader.readValue() : nil
        guard reader.isAtEnd, hasFinalURL == (finalURL != nil) else { return nil }
        var response = CachedResponse(
            statusCode: Int(statusCode), headers: headers, varyingFields: varyingFields,
            requestTime: Date(timeIntervalSinceReferenceDate: requestTime),
            responseTime: Date(timeIntervalSinceReferenceDate: responseTime), bodyNumber: bodyNumber)
        response.finalURL = finalURL
        response.isInvalidated = flags.contains(.isInvalidated)
        response.isReusable = flags.contains(.isReusable)
        response.lacksBody = flags.contains(.lacksBody)
        response.redirectsRequireValidation = flags.contains(.redirectsRequireValidation)
        response.isRewritten = flags.contains(.isRewritten)
        response.redirectLifetime = redirectLifetime.isFinite ? redirectLifetime : nil
        if slots != 0 { response.alternates = (0..<UInt8.bitWidth).filter { slots & 1 << UInt8($0) != 0 } }
        return response
    }
}

/// Appends numbers and texts.
private struct ByteWriter {
    private(set) var bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
        // Enough for the heads of most servers.
        self.bytes.reserveCapacity(1024)
    }

    mutating func write(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
    }

    mutating func write(name: String) {
        let name = name.utf8.prefix(Int(UInt16.max))
        write(UInt16(name.count))
        bytes += name
    }

    mutating func write(value: String) {
        let value = value.utf8.prefix(Int(Int32.max))
        write(UInt32(value.count))
        bytes += value
    }
}

/// Reads numbers and texts from the front.
private struct ByteReader {
    private var bytes: Slice<UnsafeRawBufferPointer>

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes[...] }

    var isAtEnd: Bool { bytes.isEmpty }
    var remainingByteCount: Int { bytes.count }

    mutating func skip(_ expected: [UInt8]) -> Bool { take(expected.count)?.elementsEqual(expected) ?? false }

    mutating func read<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
        take(MemoryLayout<Number>.size).map { Number(littleEndian: $0.loadUnaligned(as: Number.self)) }
    }

    mutating func readDouble() -> Double? { read(UInt64.self).map(Double.init(bitPattern:)) }

    mutating func readName() -> String? { read(UInt16.self).flatMap { readText(Int($0)) } }

    mutating func readValue() -> String? { read(UInt32.self).flatMap { readText(Int($0)) } }

    private mutating func readText(_ count: Int) -> String? {
        guard let bytes = take(count) else { return nil }
        return String(unsafeUninitializedCapacity: count) { text in
            UnsafeMutableRawBufferPointer(text).copyBytes(from: bytes)
            return count
        }
    }

    private mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
        guard count <= bytes.count else { return nil }
        defer { bytes = bytes.dropFirst(count) }
        return UnsafeRawBufferPointer(rebasing: bytes.prefix(count))
    }
}
