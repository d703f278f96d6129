internal import CommandReference
internal import FoundationEssentials
internal import Glibc
internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// A folder with thumbnails in the layout of the freedesktop standard, such as `~/.cache/thumbnails`:
///
///     normal/MD5.png   large/…   x-large/…   xx-large/…      thumbnails, by size
///     fail/webimage-VERSION/MD5.png                          files of which this version can make none
struct ThumbnailFolder: Sendable {
    /// The folder with the folders of the sizes.
    let path: SystemString

    init(_ path: SystemString) { self.path = path }

    /// The folder in which `file` is the thumbnail of `source` in the standard's layout; `nil` for any other file.
    init?(containing file: SystemString, of source: ThumbnailSource) {
        let suffixes = ThumbnailSize.names.map { "/\($0)/\(source.thumbnailName)" }
        guard let suffix = suffixes.first(where: file.hasSuffix), file.bytes.count > suffix.utf8.count else {
            return nil
        }
        path = SystemString(file.bytes.dropLast(suffix.utf8.count))
    }

    func thumbnail(of source: ThumbnailSource, in folder: String) -> SystemString {
        path + "/\(folder)/\(source.thumbnailName)"
    }

    func failure(of source: ThumbnailSource) -> SystemString {
        path + "/fail/\(ProgramDescription.webimage.name)-\(LibraryVersion.text)/\(source.thumbnailName)"
    }

    /// Whether a file of this folder was made of `source` in this state.
    static func isCurrent(_ file: SystemString, of source: ThumbnailSource, _ state: ThumbnailSource.State) -> Bool {
        let properties = ThumbnailFile.properties(of: contents(of: file))
        return properties["Thumb::URI"] == source.uri && properties["Thumb::MTime"] == "\(state.modified)"
    }

    /// Remembers that there can be no thumbnail of `source` in this state.
    func writeFailure(of source: ThumbnailSource, _ properties: ThumbnailFile.Properties) throws(WebImageError) {
        let empty = Image(pixels: try MutablePixelBuffer(width: 1, height: 1).freeze(isOpaque: false))
        let png = try CodecRegistry.shared.encode(empty, as: .png)
        try Self.write(ThumbnailFile.adding(properties, to: png), to: failure(of: source))
    }

    func removeFailure(of source: ThumbnailSource) { _ = failure(of: source).withCString { unlink($0) } }

    /// Writes a file that only its owner may read, into a folder that only its owner may enter.
    static func write(_ file: Data, to path: SystemString) throws(WebImageError) {
        if let slash = path.bytes.lastIndex(of: UInt8(ascii: "/")), slash > 0 {
            try OutputFile.createDirectory(SystemString(path.bytes[..<slash]), permissions: 0o700)
        }
        try OutputFile.write(file, to: path, isPrivate: true, waitsForReader: false)
    }

    /// Returns the bytes of a file before its pixels, or all; empty if it cannot be read.
    private static func contents(of path: SystemString) -> Data {
        let descriptor = path.withCString { open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard descriptor >= 0 else { return Data() }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = read(descriptor, &bytes, bytes.count)
        return Data(bytes[..<max(0, count)])
    }
}
