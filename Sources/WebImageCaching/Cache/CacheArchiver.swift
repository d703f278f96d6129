public import FoundationEssentials

/// How a ``Cache`` turns values into the bytes on disk, and back.
///
/// Both closures are called from any thread, also several at once.
public struct CacheArchiver<Value: Sendable>: Sendable {
    /// Makes the bytes of a value. What it throws becomes ``WebImageError/archiving(key:reason:)``.
    public var archive: @Sendable (Value) throws -> Data
    /// Makes the value of such bytes. An error, or `nil`, means that they are no value: they are removed, and the look-up
    /// is a miss.
    public var unarchive: @Sendable (Data) throws -> Value?

    /// Makes an archiver of two closures.
    public init(
        archive: @escaping @Sendable (Value) throws -> Data, unarchive: @escaping @Sendable (Data) throws -> Value?
    ) {
        self.archive = archive
        self.unarchive = unarchive
    }
}

extension CacheArchiver where Value == Data {
    /// Bytes as they are.
    public static var identity: Self { Self(archive: { $0 }, unarchive: { $0 }) }
}

extension CacheArchiver where Value: Codable {
    /// JSON, for every `Codable` type: also numbers and strings by themselves, infinities and NaN, and `nil`.
    ///
    /// Binary property lists would be smaller where a value holds bytes, but their decoder ends the process on some
    /// damaged data, they turn the text "$null" into `nil`, and take no scalar at the top.
    public static var codable: Self {
        Self(
            archive: { value in
                let encoder = JSONEncoder()
                encoder.nonConformingFloatEncodingStrategy = .convertToString(
                    positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
                return try encoder.encode(value)
            },
            unarchive: { data in
                let decoder = JSONDecoder()
                decoder.nonConformingFloatDecodingStrategy = .convertFromString(
                    positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
                return try decoder.decode(Value.self, from: data)
            })
    }
}
