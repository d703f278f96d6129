internal import CWebImageGLib
internal import FoundationEssentials
internal import Glibc
internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// The file of which a thumbnail is made.
struct ThumbnailSource: Sendable {
    let input: ImageInput
    /// The absolute path, without links being resolved.
    let path: SystemString
    /// The URI, which identifies the thumbnail: as given, or that of the path.
    let uri: String

    /// - Returns: `nil` for anything but a file of this machine.
    init?(_ argument: SystemString) {
        guard let input = try? ImageInput(argument), !input.isStandardInput, let path = input.path else { return nil }
        self.input = input
        self.path = path.withCString { text in
            guard let absolute = g_canonicalize_filename(text, nil) else { return path }
            defer { g_free(absolute) }
            return SystemString(cString: absolute)
        }
        uri = argument.hasPrefix("file:") ? argument.description : self.path.fileURL.absoluteString
    }

    /// The name that a thumbnail has in the standard's folders: the MD5 of the URI.
    var thumbnailName: String {
        let digest = uri.withCString { g_compute_checksum_for_string(G_CHECKSUM_MD5, $0, -1) }
        defer { g_free(digest) }
        return digest.map { String(cString: $0) + ".png" } ?? ""
    }

    /// The state of a file, by which its thumbnail is known to be out of date.
    struct State: Sendable {
        /// In whole seconds since 1970.
        let modified: Int
        let byteCount: Int
    }

    /// - Throws: ``WebImageError/file(path:errno:)``.
    func state() throws(WebImageError) -> State {
        var status = stat()
        guard path.withCString({ stat($0, &status) }) == 0 else { throw .file(path: path.description, errno: errno) }
        return State(modified: Int(status.st_mtim.tv_sec), byteCount: Int(status.st_size))
    }
}
