internal import CWebImageGTK
internal import FoundationEssentials
internal import Glibc
internal import GTKObjects
internal import WebImage

/// A regular file that GIO reads, what is known of it, and the read position.
struct GIOFile: Sendable {
    /// `nil` if it is not known.
    let byteCount: Int64?
    /// Differs between versions of the file, in quotes as in HTTP; `nil` if nothing is known of them.
    let entityTag: String?
    private let contentType: String?
    private let url: URL
    private let file: GIOObject
    private let cancellable: GIOObject
    private var stream: GIOObject?
    private(set) var readByteCount: Int64 = 0

    /// Finds out what `url` names. This blocks, as reading does, until it is done or `cancellable` is cancelled.
    init(_ url: URL, cancellable: GIOObject) throws(WebImageError) {
        self.url = url
        self.cancellable = cancellable
        guard let file = g_file_new_for_uri(url.absoluteString) else { throw .invalidURL(url.absoluteString) }
        self.file = GIOObject(owning: ObjectPointer(file))
        var error: UnsafeMutablePointer<GError>?
        guard
            let info = g_file_query_info(file, Self.attributes, G_FILE_QUERY_INFO_NONE, cancellable.cancellable, &error)
        else { throw WebImageError(taking: error, reading: url.absoluteString) }
        defer { g_object_unref(UnsafeMutableRawPointer(info)) }
        // Opening a pipe or a device could block forever.
        switch GFileType(rawValue: GFileType.RawValue(g_file_info_get_attribute_uint32(info, "standard::type"))) {
        case G_FILE_TYPE_REGULAR, G_FILE_TYPE_UNKNOWN: break
        case G_FILE_TYPE_DIRECTORY: throw .file(path: url.absoluteString, errno: EISDIR)
        default: throw .file(path: url.absoluteString, errno: EOPNOTSUPP)
        }
        let hasSize = g_file_info_has_attribute(info, "standard::size") != 0
        byteCount =
            hasSize ? Int64(clamping: g_file_info_get_attribute_uint64(info, "standard::size")) : nil
        contentType = g_file_info_get_attribute_string(info, "standard::content-type").map { String(cString: $0) }
        entityTag = Self.entityTag(of: info)
    }

    private static let attributes = "standard::type,standard::size,standard::content-type,etag::value,time::modified"

    private static func entityTag(of info: OpaquePointer) -> String? {
        var tag = g_file_info_get_attribute_string(info, "etag::value").map { String(cString: $0) }
        let time = g_file_info_get_attribute_uint64(info, "time::modified")
        if tag == nil, time > 0 { tag = "\(time)-\(g_file_info_get_attribute_uint64(info, "standard::size"))" }
        let isValid = tag?.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") } ?? false
        return isValid ? tag.map { "\"\($0)\"" } : nil
    }

    /// The response that a server of the file would send.
    ///
    /// - Parameter statusCode: 200, or 304 for a version that the caller has.
    func response(_ statusCode: Int) -> LoaderResponse {
        // Whether the file has changed is quick to find out.
        var headers = [HTTPHeader(name: "Cache-Control", value: "no-cache")]
        if let contentType { headers.append(HTTPHeader(name: "Content-Type", value: contentType)) }
        if let entityTag { headers.append(HTTPHeader(name: "ETag", value: entityTag)) }
        return LoaderResponse(
            url: url, statusCode: statusCode, headers: headers, expectedByteCount: statusCode == 304 ? nil : byteCount)
    }

    /// Opens the file if it is not open, and returns at most the next `limit` bytes; none at the end.
    mutating func readPiece(atMost limit: Int) throws(WebImageError) -> Data {
        let stream = try openStream()
        var piece = Data(count: limit)
        var error: UnsafeMutablePointer<GError>?
        let count = piece.withUnsafeMutableBytes { [cancellable] bytes in
            g_input_stream_read(stream.stream, bytes.baseAddress, gsize(limit), cancellable.cancellable, &error)
        }
        guard count >= 0 else { throw WebImageError(taking: error, reading: url.absoluteString) }
        readByteCount += Int64(count)
        // A short piece does not retain all of the memory.
        return count < limit / 2 ? piece.withUnsafeBytes { Data($0.prefix(count)) } : piece.prefix(count)
    }

    private mutating func openStream() throws(WebImageError) -> GIOObject {
        if let stream { return stream }
        var error: UnsafeMutablePointer<GError>?
        guard let opened = g_file_read(file.opaque, cancellable.cancellable, &error) else {
            throw WebImageError(taking: error, reading: url.absoluteString)
        }
        // The last reference closes it.
        let stream = GIOObject(owning: ObjectPointer(opened))
        self.stream = stream
        return stream
    }
}
