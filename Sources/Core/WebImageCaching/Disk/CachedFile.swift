public import FoundationEssentials
internal import Glibc
public import WebImageCore

/// A file with a cached image, for programs that take a path: players, bars, notifications, other processes.
///
/// The file stays at its path, unchanged, as long as this object exists. Afterwards it stays until it was not used for a week, or until
/// all such files take more than 256 MiB (``DiskCache/Configuration/cachedFileAgeLimit``,
/// ``DiskCache/Configuration/cachedFileSizeLimit``), or until the disk cache is cleared.
///
/// It is a copy in the folder `files` of the disk cache, which several processes can share; do not write to it. Without a disk cache it is in a
/// temporary folder of the process, which is removed when the program ends.
///
/// ```swift
/// let cover = try await manager.file(for: WebImageRequest(url), format: .png)
/// print(cover.path)
/// ```
public final class CachedFile: Sendable {
    /// The URL of the file.
    public let url: URL
    /// The format of the file, which its extension names.
    public let format: ImageFormat
    /// The length of the file in bytes.
    public let byteCount: Int
    /// Open with a shared lock, which keeps others from removing the file.
    private let descriptor: Int32

    /// - Parameter descriptor: is closed by this object.
    init(path: String, format: ImageFormat, byteCount: Int, descriptor: Int32) {
        url = URL(filePath: path, directoryHint: .notDirectory).absoluteURL
        self.format = format
        self.byteCount = byteCount
        self.descriptor = descriptor
    }

    deinit {
        let isForgotten = CachedFileStore.isForgotten(descriptor)
        close(descriptor)
        if isForgotten { CachedFileStore.removeUnlessHeld(path) }
    }

    /// The path of the file.
    public var path: String { url.path(percentEncoded: false) }
}
