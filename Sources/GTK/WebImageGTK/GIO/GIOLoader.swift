public import FoundationEssentials
public import WebImage

/// Loads what GIO reads: `resource:` URLs, the program's GResources, and the schemes of GVfs that a program allows.
///
/// ```swift
/// ImageLoaderGroup.shared.add(GIOLoader())                                    // resource:///org/example/app/logo.png
/// ImageLoaderGroup.shared.add(GIOLoader(schemes: ["resource", "sftp", "mtp"]))
/// ```
///
/// No manager has this loader unless it gets one. A URL from the network must not read what only the user can: allow the schemes of the
/// URLs that the program makes itself. For a file that the user chooses, ``WebImage/WebImageRequest/init(file:thumbnail:)`` needs no loader
/// of the manager.
///
/// Files are read in pieces by blocking functions, on four threads of this loader. A cancelled load ends what it waits for. Only
/// regular files are read. GIO does not mount what is not mounted: such a load fails.
public final class GIOLoader: ImageLoader {
    /// The schemes of the URLs that are loaded, in lowercase; `nil` for all.
    private let schemes: Set<String>?
    /// The largest file accepted, in bytes; larger ones fail with ``WebImage/WebImageError/ResponseFailure/bodyTooLong(byteCount:limit:)``.
    public let maximumByteCount: Int64

    /// Creates a loader.
    ///
    /// - Parameters:
    ///   - schemes: the schemes of the URLs that are loaded; `["resource"]` by default, which only the program can put anything into.
    ///     Others are those of GVfs, if it is installed: `sftp`, `smb`, `dav`, `davs`, `ftp`, `mtp`, `gphoto2`, `afc`, `trash`, `recent`,
    ///     `admin` and more.
    ///   - maximumByteCount: 200 MiB by default, as for the downloader.
    public convenience init(schemes: Set<String> = ["resource"], maximumByteCount: Int64 = 200 << 20) {
        self.init(anyOf: Set(schemes.map { $0.lowercased() }), maximumByteCount: maximumByteCount)
    }

    private init(anyOf schemes: Set<String>?, maximumByteCount: Int64) {
        self.schemes = schemes
        self.maximumByteCount = maximumByteCount
    }

    /// The loaders of requests for a `GFile`, which the program has chosen.
    static let chosenFiles: ImageLoaderGroup = [
        GIOLoader(anyOf: nil, maximumByteCount: .max), FileLoader(maximumByteCount: .max),
    ]

    /// Whether the URL has one of the schemes.
    public func canLoad(_ url: URL) -> Bool {
        guard let scheme = url.scheme?.lowercased() else { return false }
        return schemes?.contains(scheme) ?? true
    }

    /// Whether the file is on another machine or a device. Others need no copy in the disk cache.
    public func isCacheable(_ url: URL) -> Bool {
        url.scheme.map { Self.remoteSchemes.contains($0.lowercased()) } ?? false
    }

    private static let remoteSchemes: Set = [
        "afc", "afp", "dav", "davs", "dns-sd", "ftp", "ftpis", "ftps", "google-drive", "gphoto2", "mtp", "nfs",
        "onedrive", "sftp",
        "smb", "ssh",
    ]

    /// Starts to read; see ``WebImage/ImageLoader/load(_:priority:handler:)``. The response has status 200, the `Content-Type` that GIO
    /// knows, and an `ETag` for the version of the file, with which `.refresh` and `.http` read it again only if it has changed.
    ///
    /// It reports ``WebImage/WebImageError/file(path:errno:)`` for a file that does not exist, may not be read, or is a directory, a pipe
    /// or a device; ``WebImage/WebImageError/ResponseFailure/emptyBody``,
    /// ``WebImage/WebImageError/ResponseFailure/bodyTooLong(byteCount:limit:)``,
    /// ``WebImage/WebImageError/ResponseFailure/truncated(expected:received:)`` for a file that shrinks while it is read, and
    /// ``WebImage/WebImageError/custom(id:message:)`` with the message of GIO for everything else.
    public func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let reading = GIOReading(request, limit: maximumByteCount, priority: priority, handler: handler)
        reading.start()
        return reading
    }
}
