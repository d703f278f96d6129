public import CWebImageGTK
internal import FoundationEssentials
internal import GTKObjects
internal import Synchronization
public import WebImage

/// Requests for what GIO has. `options`, `priority` and other properties are set afterwards.
extension WebImageRequest {
    /// Creates a request for a file that the program or its user has chosen, of any scheme that GIO reads.
    ///
    /// ```swift
    /// let file = g_file_new_for_uri("sftp://nas.local/photos/beach.jpg")
    /// if let file { picture.setImage(try WebImageRequest(file: file)) }
    /// ```
    ///
    /// The manager's loaders do not matter, unless the file is one of http or https: then they load it. The file may have any length. It
    /// is cached as a ``GIOLoader`` does.
    ///
    /// - Parameters:
    ///   - file: a `GFile`, of which only the URI is used.
    ///   - thumbnail: the requested size; `nil` for all pixels of the file.
    /// - Throws: ``WebImage/WebImageError/invalidURL(_:reason:)`` if the URI of the file is not a URL.
    public init(file: OpaquePointer, thumbnail: Thumbnail? = nil) throws(WebImageError) {
        let text = g_file_get_uri(file)
        defer { g_free(text) }
        try self.init(text.map { String(cString: $0) } ?? "", thumbnail: thumbnail)
        if !["http", "https"].contains(url.scheme?.lowercased()) { loaders = GIOLoader.chosenFiles }
    }

    /// Creates a request for a file that is in memory.
    ///
    /// ```swift
    /// let bytes = g_resources_lookup_data("/org/example/app/cover.webp", G_RESOURCE_LOOKUP_FLAGS_NONE, nil)
    /// if let bytes { picture.setImage(WebImageRequest(bytes: bytes, id: "cover")) }
    /// ```
    ///
    /// Decoded images are cached in memory. The bytes are not stored on disk, and not copied.
    ///
    /// - Parameters:
    ///   - bytes: a `GBytes`, which the request and its copies retain.
    ///   - id: identifies the bytes in caches. Requests with the same identifier can share the work, so other bytes need another one. `nil`,
    ///     the default, stands for a digest of the bytes, which takes some milliseconds for each megabyte.
    ///   - thumbnail: the requested size; `nil` for all pixels of the file.
    public init(bytes: OpaquePointer, id: String? = nil, thumbnail: Thumbnail? = nil) {
        let data = Data(sharing: bytes)
        self.init(id: id ?? Data.digest(of: bytes), thumbnail: thumbnail, isCacheable: false) { data }
    }

    /// Creates a request for the rest of a stream, of at most 200 MiB.
    ///
    /// ```swift
    /// let stream = g_resources_open_stream("/org/example/app/cover.webp", G_RESOURCE_LOOKUP_FLAGS_NONE, nil)
    /// if let stream { picture.setImage(WebImageRequest(stream: stream, id: "cover")) }
    /// ```
    ///
    /// The first load reads the stream, by blocking functions on a thread of the library. Loads at the same time wait for the same bytes,
    /// and later ones use them: the request and its copies retain what was read. A load that is cancelled leaves the stream where it is, and
    /// the next one continues there. After an error of the stream, all loads fail with it. Decoded images are cached in memory; the bytes
    /// are not stored on disk.
    ///
    /// - Parameters:
    ///   - stream: a `GInputStream`, which the request retains. Nothing else may read it. One that belongs to a thread, such as those of
    ///     libsoup, must be read there: make a request for the bytes instead.
    ///   - id: identifies the bytes in caches, as that of ``init(bytes:id:thumbnail:)``. `nil`, the default, stands for this stream alone.
    ///   - thumbnail: the requested size; `nil` for all pixels of the file.
    public init(stream: UnsafeMutablePointer<GInputStream>, id: String? = nil, thumbnail: Thumbnail? = nil) {
        let id = id ?? "stream/\(Self.streamCount.add(1, ordering: .relaxed).newValue)"
        let source = StreamSource(stream, id: id)
        self.init(id: id, thumbnail: thumbnail, isCacheable: false) { try await source.read() }
    }

    private static let streamCount = Atomic(0)
}

extension Data {
    /// A text that only these bytes have.
    fileprivate static func digest(of bytes: OpaquePointer) -> String {
        let text = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, bytes)
        defer { g_free(text) }
        return "sha256/\(text.map { String(cString: $0) } ?? "")"
    }
}
