import FoundationEssentials
import Glibc
import WebImageGTK

/// The order of the images.
enum PhotoOrder: String, Codable, CaseIterable, Sendable {
    case name, dateTaken, dateModified, size

    var title: String {
        switch self {
        case .name: localized("Name")
        case .dateTaken: localized("Date taken")
        case .dateModified: localized("Date modified")
        case .size: localized("Size of the file")
        }
    }

    /// For menus.
    var command: String {
        switch self {
        case .name: localized("Sort by name")
        case .dateTaken: localized("Sort by date taken")
        case .dateModified: localized("Sort by date modified")
        case .size: localized("Sort by size of the file")
        }
    }

    /// Images in order, with the dates of files if the order is by date.
    struct Arrangement: Sendable {
        var urls: [URL]
        /// As `YYYY:MM:DD HH:MM:SS`.
        var dates: [URL: String] = [:]
    }

    /// Returns the images in this order: by name as in file managers, with the images of a folder before those of folders inside it;
    /// else the newest and the largest first. Images of servers, of which nothing is known, keep their order at the end. Reads the
    /// files, so it blocks the thread.
    ///
    /// - Parameters:
    ///   - isReversed: whether the last come first. Images of servers stay at the end.
    ///   - codecs: what reads EXIF.
    func arranged(
        _ urls: [URL], isReversed: Bool = false, _ cancellation: Cancellation, codecs: CodecRegistry = .shared
    ) -> Arrangement {
        switch self {
        case .name:
            arranged(urls, isReversed, cancellation, by: Self.nameKey) {
                $0.lexicographicallyPrecedes($1) { $0.lexicographicallyPrecedes($1) }
            }
        case .dateTaken:
            arranged(urls, isReversed, cancellation, by: { Self.dateTaken($0, cancellation, codecs) }, date: { $0 }) {
                $0 > $1
            }
        case .dateModified:
            arranged(urls, isReversed, cancellation, by: LocalFile.modified, date: Self.localTime) { $0 > $1 }
        case .size: arranged(urls, isReversed, cancellation, by: LocalFile.byteCount) { $0 > $1 }
        }
    }

    /// - Parameter date: returns the date of a key, as text.
    private func arranged<Key>(
        _ urls: [URL], _ isReversed: Bool, _ cancellation: Cancellation, by key: (URL) -> Key?,
        date: (Key) -> String? = { _ in nil }, _ precedes: (Key, Key) -> Bool
    ) -> Arrangement {
        var keyed: [(key: Key, url: URL)] = []
        var others: [URL] = []
        for url in urls {
            guard !cancellation.isCancelled else { return Arrangement(urls: urls) }
            if url.isFileURL, let key = key(url) { keyed.append((key, url)) } else { others.append(url) }
        }
        let sorted = keyed.sorted { isReversed ? precedes($1.key, $0.key) : precedes($0.key, $1.key) }
        var result = Arrangement(urls: sorted.map(\.url) + others)
        for (key, url) in keyed { if let date = date(key) { result.dates[url] = date } }
        return result
    }

    // MARK: Keys

    /// The folders and the name, each with a mark that puts files first.
    private static func nameKey(_ file: URL) -> [[UInt8]]? {
        let parts = file.filePath.description.split(separator: "/").map(String.init)
        return parts.enumerated().map { index, part in
            [index == parts.count - 1 ? 1 : 2] + FolderScanner.orderKey(of: part)
        }
    }

    /// `YYYY:MM:DD HH:MM:SS`: what the camera noted, or else when the file was modified, in local time.
    private static func dateTaken(_ file: URL, _ cancellation: Cancellation, _ codecs: CodecRegistry) -> String? {
        if let date = exifDate(file, cancellation, codecs) { return date }
        return LocalFile.modified(file).flatMap(localTime)
    }

    /// `YYYY:MM:DD HH:MM:SS`.
    static func localTime(_ date: Date) -> String? {
        var (seconds, time) = (time_t(date.timeIntervalSince1970.rounded(.down)), tm())
        guard localtime_r(&seconds, &time) != nil else { return nil }
        var text = [CChar](repeating: 0, count: 32)
        strftime(&text, text.count, "%Y:%m:%d %H:%M:%S", &time)
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static func exifDate(_ file: URL, _ cancellation: Cancellation, _ codecs: CodecRegistry) -> String? {
        let metadata = try? codecs.metadata(ofFileAt: file, cancellation: cancellation)
        return metadata?.exifFields?.date?.description
    }
}
