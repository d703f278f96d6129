import CWebImageGTK
import FoundationEssentials
import Glibc
import WebImageGTK

/// The order of the images.
enum PhotoOrder: String, Codable, CaseIterable, Sendable {
    case name, dateTaken, dateModified, size

    var title: String {
        switch self {
        case .name: "Name"
        case .dateTaken: "Date taken"
        case .dateModified: "Date modified"
        case .size: "Size of the file"
        }
    }

    /// Returns the images in this order: by name as in file managers, with the images of a folder before those of folders inside it;
    /// else the newest and the largest first. Images of servers, of which nothing is known, keep their order at the end. Reads the
    /// files, so it blocks the thread.
    func sorted(_ urls: [URL], _ cancellation: Cancellation) -> [URL] {
        switch self {
        case .name: sorted(urls, cancellation, by: Self.nameKey) { $0.lexicographicallyPrecedes($1) }
        case .dateTaken: sorted(urls, cancellation, by: Self.dateTaken) { $0 > $1 }
        case .dateModified: sorted(urls, cancellation, by: Self.dateModified) { $0 > $1 }
        case .size: sorted(urls, cancellation, by: Self.byteCount) { $0 > $1 }
        }
    }

    private func sorted<Key>(
        _ urls: [URL], _ cancellation: Cancellation, by key: (URL) -> Key?, _ precedes: (Key, Key) -> Bool
    ) -> [URL] {
        var keyed: [(key: Key, url: URL)] = []
        var others: [URL] = []
        for url in urls {
            guard !cancellation.isCancelled else { return urls }
            if url.isFileURL, let key = key(url) { keyed.append((key, url)) } else { others.append(url) }
        }
        return keyed.sorted { precedes($0.key, $1.key) }.map(\.url) + others
    }

    // MARK: Keys

    /// The folders and the name, each with a mark that puts files first.
    private static func nameKey(_ file: URL) -> [String]? {
        let parts = file.path(percentEncoded: false).split(separator: "/").map(String.init)
        return parts.enumerated().map { index, part in
            let key = g_utf8_collate_key_for_filename(part, -1)
            defer { g_free(key) }
            return (index == parts.count - 1 ? "1" : "2") + (key.map { String(cString: $0) } ?? part)
        }
    }

    private static func status(_ file: URL) -> stat? {
        var status = stat()
        return stat(file.path(percentEncoded: false), &status) == 0 ? status : nil
    }

    private static func byteCount(_ file: URL) -> Int? { status(file).map { Int($0.st_size) } }

    private static func dateModified(_ file: URL) -> Date? { FileDate.modified(of: file) }

    /// `YYYY:MM:DD HH:MM:SS`: what the camera noted, or else when the file was modified, in local time.
    private static func dateTaken(_ file: URL) -> String? {
        if let date = exifDate(file) { return date }
        guard var seconds = status(file)?.st_mtim.tv_sec else { return nil }
        var time = tm()
        guard localtime_r(&seconds, &time) != nil else { return nil }
        var text = [CChar](repeating: 0, count: 32)
        strftime(&text, text.count, "%Y:%m:%d %H:%M:%S", &time)
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// How much of a file is read: cameras write EXIF data at its beginning.
    private static let exifByteLimit = 256 << 10

    private static func exifDate(_ file: URL) -> String? {
        let descriptor = open(file.path(percentEncoded: false), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: exifByteLimit)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return nil }
        let exif = try? CodecRegistry.shared.metadata(of: Data(bytes[..<count])).exif
        return exif.flatMap { EXIFFields($0)?.date }.flatMap { $0.hasPrefix("0000") ? nil : $0 }
    }
}
