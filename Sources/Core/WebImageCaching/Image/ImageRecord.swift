internal import FoundationEssentials
internal import WebImageCore

/// The properties of an image that are stored on disk in addition to its bytes, which do not contain them.
///
/// | bytes | |
/// |---|---|
/// | 0–2 | "WIR" |
/// | 3 | version, 1 |
/// | 4 | flags: 1 thumbnail, 2 transformed, 4 extended data follows |
/// | 5–12 | scale, an IEEE 754 double, little-endian |
/// | 13– | extended data |
struct ImageRecord: Equatable {
    var scale = 1.0
    var isThumbnail = false
    var isTransformed = false
    var extendedData: Data?

    private static let signature: [UInt8] = Array("WIR".utf8)
    private static let version: UInt8 = 1
    private static let headerByteCount = 13

    /// Creates the record of an image; for bytes without an image, only extended data.
    init(_ image: Image?, extendedData: Data?) {
        scale = image?.scale ?? 1
        isThumbnail = image?.isThumbnail ?? false
        isTransformed = image?.isTransformed ?? false
        self.extendedData = extendedData
    }

    /// Decodes a record. Other data was stored by the program and is extended data. A record of another version is
    /// ignored.
    init(_ data: Data?) {
        guard let data, !data.isEmpty else { return }
        let header = [UInt8](data.prefix(Self.headerByteCount))
        guard header.starts(with: Self.signature) else {
            extendedData = data
            return
        }
        guard header.count == Self.headerByteCount, header[3] == Self.version else { return }
        let bits = header[5...].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let stored = Double(bitPattern: bits)
        if stored.isFinite, stored > 0 { scale = stored }
        isThumbnail = header[4] & 1 != 0
        isTransformed = header[4] & 2 != 0
        if header[4] & 4 != 0 { extendedData = Data(data.dropFirst(Self.headerByteCount)) }
    }

    /// The encoded record; `nil` if all values are the defaults.
    var data: Data? {
        if self == ImageRecord(nil as Data?) { return nil }
        var bytes = Self.signature + [Self.version]
        bytes.append((isThumbnail ? 1 : 0) | (isTransformed ? 2 : 0) | (extendedData != nil ? 4 : 0))
        withUnsafeBytes(of: scale.bitPattern.littleEndian) { bytes += Array($0) }
        return Data(bytes) + (extendedData ?? Data())
    }

    func apply(to image: inout Image) {
        image.scale = scale
        image.isThumbnail = image.isThumbnail || isThumbnail
        image.isTransformed = isTransformed
        image.extendedData = extendedData
    }
}
