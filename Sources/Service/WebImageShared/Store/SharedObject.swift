internal import FoundationEssentials
internal import WebImageCore

/// An object of the store.
///
/// | bytes | |
/// |---|---|
/// | 0–3 | "WISO" |
/// | 4 | version, 1 |
/// | 5 | kind |
/// | 6 | 0 if it ends with a checksum, 1 if with an authentication code |
/// | 7 | 0 |
/// | 8–11 | length of the texts, little-endian |
/// | 12– | the texts, as JSON |
/// | … | the content |
/// | last 64 | SHA-256, or with a secret HMAC-SHA256, of all bytes before, in hexadecimal |
///
/// The digest covers the name, so an object under a wrong key is rejected. Objects of other versions, and those without the
/// expected digest, are rejected too, and replaced.
struct SharedObject: Equatable {
    enum Kind: UInt8 {
        /// A response: the record is its HTTP metadata.
        case response = 0
        /// The mark of a load in progress: the content is the number of the process.
        case lease = 1
        /// The mark of a response that may not be shared, until its expiry.
        case refusal = 2
        /// Bytes that a program stored.
        case value = 3
    }

    struct Texts: Codable, Equatable {
        /// The URL or cache key of the content.
        var name: String
        var record: Data?
        /// The address of the server that sent a response; `nil` if it is unknown.
        var address: String?
        var extendedData: Data?
        /// In seconds since 1970; `nil` for never.
        var expires: Double?
    }

    var kind: Kind
    var texts: Texts
    var content: Data

    private static let signature = Array("WISO".utf8)
    private static let version: UInt8 = 1
    private static let digestByteCount = 64

    init(_ kind: Kind, name: String, record: Data? = nil, content: Data = Data()) {
        (self.kind, self.content) = (kind, content)
        texts = Texts(name: name, record: record)
    }

    func isExpired(at date: Date) -> Bool { texts.expires.map { $0 <= date.timeIntervalSince1970 } ?? false }

    func encoded(secret: SharedSecret?) -> Data {
        let json = (try? JSONEncoder().encode(texts)) ?? Data()
        var data = Data(Self.signature + [Self.version, kind.rawValue, Self.digestKind(secret), 0])
        withUnsafeBytes(of: UInt32(json.count).littleEndian) { data.append(contentsOf: $0) }
        data.append(json)
        data.append(content)
        data.append(contentsOf: Self.digest(of: [UInt8](data), secret).utf8)
        return data
    }

    private static func digestKind(_ secret: SharedSecret?) -> UInt8 { secret == nil ? 0 : 1 }

    private static func digest(of bytes: [UInt8], _ secret: SharedSecret?) -> String {
        secret.map { SHA256.authenticationCode(of: bytes, key: $0.bytes).hexadecimal } ?? SHA256.hexDigest(of: bytes)
    }

    /// Returns `nil` for bytes that are no complete, unchanged object of this version and this name.
    ///
    /// - Parameter secret: the one that the object must have been written with; `nil` for none.
    init?(_ data: Data, name: String?, secret: SharedSecret?) {
        let bytes = [UInt8](data)
        let end = bytes.count - Self.digestByteCount
        guard let range = Self.textRange(in: bytes), range.upperBound <= end, let kind = Kind(rawValue: bytes[5]),
            bytes[6] == Self.digestKind(secret),
            SHA256.areEqual(Self.digest(of: Array(bytes[..<end]), secret).utf8, bytes[end...]),
            let texts = try? JSONDecoder().decode(Texts.self, from: Data(bytes[range])),
            name == nil || texts.name.hasSameBytes(as: name ?? "")
        else { return nil }
        (self.kind, self.texts, content) = (kind, texts, Data(bytes[range.upperBound..<end]))
    }

    /// The number of bytes that are read to find a name.
    static let textByteLimit = 64 << 10

    /// Returns the name in the first bytes of an object, which may be damaged; `nil` for other bytes.
    static func name(inBeginning data: Data) -> String? {
        let bytes = [UInt8](data.prefix(textByteLimit))
        guard let range = textRange(in: bytes) else { return nil }
        return (try? JSONDecoder().decode(Texts.self, from: Data(bytes[range])))?.name
    }

    /// Returns the range of the texts; `nil` for bytes of another kind or version, and if the texts are not complete.
    private static func textRange(in bytes: [UInt8]) -> Range<Int>? {
        guard bytes.count >= 12, bytes.starts(with: signature), bytes[4] == version else { return nil }
        let length = (0..<4).reduce(0) { $0 | Int(bytes[8 + $1]) << (8 * $1) }
        return 12 + length <= bytes.count ? 12..<12 + length : nil
    }

    /// Returns the key of a name: characters that no encoding changes, distributed evenly over the store.
    static func key(of name: String) -> String {
        let digest = SHA256.hexDigest(of: [UInt8](name.utf8))
        return "v1/" + digest.prefix(2) + "/" + digest.dropFirst(2)
    }
}
