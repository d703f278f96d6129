internal import FoundationEssentials

/// What is kept beside a value's bytes, in the form in which it is kept.
struct DiskAttachments: Sendable {
    /// The most bytes beside one value: they are in the index, which is not made for large ones.
    static let byteLimit = 1 << 20

    var deadline: ExpirationDeadline
    let extendedData: Data?
    let responseMetadata: Data?

    /// - Parameters:
    ///   - standard: the expiration of values that name none.
    ///   - now: microseconds since 1970.
    init(_ attributes: DiskCache.Attributes, standard: CacheExpiration, now: Int64) {
        deadline = ExpirationDeadline(attributes.expiration ?? standard, now: now, date: now)
        extendedData = attributes.extendedData
        responseMetadata = attributes.responseMetadata
    }

    var isEmpty: Bool { extendedData == nil && responseMetadata == nil }
}

extension DiskCache.Attributes {
    var byteCount: Int { (extendedData?.count ?? 0) + (responseMetadata?.count ?? 0) }
}
