import CWebImageGTK
import FoundationEssentials
import WebImageGTK

/// The arguments of the command line.
struct GalleryArguments {
    /// The URLs to show, in order.
    var urls: [URL]
    /// The directory of the disk cache; `nil` for the program's default directory.
    var cacheDirectory: URL?
    /// The file for a screenshot of the window. The program ends when it is saved.
    var screenshotPath: String?
    /// The file for the figures and the positions of the visible cells. Requires a screenshot.
    var reportPath: String?
    /// The window's size in points. The default fits 30 cells.
    var windowSize = PixelSize(width: 1280, height: 900)
    /// The first page. Only the grid needs URLs.
    var page = GalleryPageName.grid

    /// The reason why arguments are invalid.
    struct Refusal: Error {
        let reason: String
    }

    /// Parses the command line with GLib's option parser, which handles `--help`.
    init(parsing arguments: [String]) throws(Refusal) {
        let options = try GalleryOptions(parsing: arguments)
        var texts = options.operands
        if let path = options.list {
            guard let data = try? Data(contentsOf: URL(filePath: path)) else {
                throw Refusal(reason: "the list \(path) can't be read")
            }
            texts += String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
        }
        urls = []
        for text in texts.map(Self.trimmed) where !text.isEmpty { urls.append(try Self.url(text)) }
        if let name = options.page {
            guard let page = GalleryPageName(rawValue: name) else {
                throw Refusal(
                    reason: "--page takes \(GalleryPageName.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            self.page = page
        }
        guard !urls.isEmpty || page != .grid else {
            throw Refusal(reason: "no URL is given, neither as argument nor in a --list")
        }

        cacheDirectory = options.cacheDirectory.map { URL(filePath: $0) }
        screenshotPath = options.screenshot
        reportPath = options.report
        if reportPath != nil, screenshotPath == nil { throw Refusal(reason: "--report needs --screenshot") }
        if reportPath != nil, page != .grid { throw Refusal(reason: "--report is for the grid") }
        if let size = options.size { windowSize = try Self.size(size) }
    }

    private static func trimmed(_ text: String) -> String {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        return String(text.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }

    /// Returns the URL that `text` contains, or the file URL of a path.
    private static func url(_ text: String) throws(Refusal) -> URL {
        if !text.contains("://") { return URL(filePath: text) }
        guard let url = URL(string: text) else { throw Refusal(reason: "'\(text)' is no URL") }
        return url
    }

    private static func size(_ text: String) throws(Refusal) -> PixelSize {
        let sides = text.split(separator: "x").compactMap { Int($0) }
        guard sides.count == 2, sides.allSatisfy({ (100...10_000).contains($0) }) else {
            throw Refusal(reason: "--size takes WIDTHxHEIGHT, each from 100 to 10000, not '\(text)'")
        }
        return PixelSize(width: sides[0], height: sides[1])
    }
}
