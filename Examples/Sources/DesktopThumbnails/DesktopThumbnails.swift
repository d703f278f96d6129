import CGLib
import Foundation

/// The thumbnails of file managers, as specified by the freedesktop.org Thumbnail Managing Standard:
/// `thumbnails/SIZE/MD5-OF-URI.png` in the user's cache, each with its file's URI and modification time inside.
struct DesktopThumbnails: Sendable {
    /// The folders with large enough images, smallest first.
    private let folders: [String]

    /// - Parameter side: the minimum length of a thumbnail's longer side, in pixels.
    init(side: Int) {
        let cache = String(cString: g_get_user_cache_dir())
        let sizes = [("normal", 128), ("large", 256), ("x-large", 512), ("xx-large", 1024)]
        folders = sizes.filter { $0.1 >= side }.map { "\(cache)/thumbnails/\($0.0)" }
    }

    /// Returns the path of a current thumbnail of the file at `path`. Blocks on the disk.
    func thumbnail(of path: String) -> String? {
        // GLib's encoding, not Foundation's, because the desktop hashes GLib's.
        guard let text = g_filename_to_uri(path, nil, nil) else { return nil }
        defer { g_free(text) }
        guard let digest = g_compute_checksum_for_string(G_CHECKSUM_MD5, text, -1) else { return nil }
        defer { g_free(digest) }
        let (uri, name) = (String(cString: text), String(cString: digest) + ".png")
        guard let changed = try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date else {
            return nil
        }
        let seconds = String(Int(changed.timeIntervalSince1970.rounded(.down)))
        return folders.lazy.map { $0 + "/" + name }.first { candidate in
            let texts = Self.texts(ofPNG: candidate)
            return texts["Thumb::URI"] == uri && texts["Thumb::MTime"] == seconds
        }
    }

    /// Returns the `tEXt` fields before a PNG's pixels.
    private static func texts(ofPNG path: String) -> [String: String] {
        guard let file = FileHandle(forReadingAtPath: path) else { return [:] }
        defer { try? file.close() }
        guard let data = try? file.read(upToCount: 65_536), data.starts(with: [0x89, 0x50, 0x4E, 0x47]) else {
            return [:]
        }
        var texts: [String: String] = [:]
        // After the signature: length, type, content, checksum.
        var rest = data.dropFirst(8)
        while rest.count >= 12 {
            let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            let type = String(decoding: rest.dropFirst(4).prefix(4), as: UTF8.self)
            guard type != "IDAT", length <= rest.count - 12 else { break }
            if type == "tEXt" {
                let parts = rest.dropFirst(8).prefix(length).split(separator: 0, maxSplits: 1)
                if parts.count == 2 {
                    texts[String(decoding: parts[0], as: UTF8.self)] = String(decoding: parts[1], as: UTF8.self)
                }
            }
            rest = rest.dropFirst(length + 12)
        }
        return texts
    }
}
