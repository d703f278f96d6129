internal import WebImageCore

/// The target of an upload.
///
///     /prefix/upload/SIGNATURE/expires:TIME/max_src_file_size:BYTES
///            └─────┴──────────┴───────────── signed ──────────────┘
///
/// What is signed begins with `/upload`, so that no signature is for an upload and for an image. Without a key, `/upload` is enough.
struct UploadPath {
    /// Empty for none.
    let signature: String
    let signed: String
    let options: [Substring]

    /// Returns `nil` for the target of something else.
    init?(_ target: String, prefix: String) {
        var path = target.prefix { $0 != "?" && $0 != "#" }
        guard target.utf8.count <= ServicePath.byteLimit, path.hasPrefix(prefix + Self.name) else { return nil }
        path = path.dropFirst(prefix.count + Self.name.count)
        guard path.isEmpty || path.first == "/" else { return nil }
        let rest = path.dropFirst()
        let end = rest.firstIndex(of: "/") ?? rest.endIndex
        signature = String(rest[..<end])
        // Proxies encode colons.
        let described = rest[end...].replacing("%3A", with: ":")
        signed = Self.name + described
        options =
            described.isEmpty ? [] : described.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    }

    private static let name = "/upload"
}
