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

    /// The text of `--help`.
    static var help: String {
        let lines = options.map { option in
            let name = "  --\(option.name) \(option.value)"
            return name + String(repeating: " ", count: max(2, 22 - name.count)) + option.help
        }
        return """
            Usage: Gallery [OPTION…] [URL…]

            Shows images from the web or from files in a grid, and the features of the views on separate pages.

            \(lines.joined(separator: "\n"))

            Exit status: 0 for success; with --screenshot, if all visible images have loaded. 1 for failures or a missing
            display. 2 for invalid arguments.
            """
    }

    private static let options: [(name: String, value: String, help: String)] = [
        ("list", "FILE", "Show the URLs in FILE, one per line"),
        ("cache-dir", "DIR", "Use the disk cache in DIR"),
        ("screenshot", "FILE", "Save the window as a PNG when all images have loaded, and exit"),
        ("report", "FILE", "Save the figures and the positions of the cells as JSON"),
        ("size", "WxH", "The window's size in points; 1280x900 by default"),
        ("page", "NAME", "The first page: \(pageNames)"),
    ]

    private static var pageNames: String { GalleryPageName.allCases.map(\.rawValue).joined(separator: ", ") }

    /// Parses the command line.
    init(parsing arguments: [String]) throws(Refusal) {
        var (values, texts) = ([String: String](), [String]())
        var rest = arguments.dropFirst()
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("--") else {
                texts.append(argument)
                continue
            }
            let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1).map(String.init)
            guard let name = parts.first, Self.options.contains(where: { $0.name == name }) else {
                throw Refusal(reason: "unknown option \(argument)")
            }
            guard let value = parts.count > 1 ? parts[1] : rest.popFirst() else {
                throw Refusal(reason: "--\(name) needs a value")
            }
            values[name] = value
        }
        if let path = values["list"] {
            guard let data = try? Data(contentsOf: URL(filePath: path)) else {
                throw Refusal(reason: "the list \(path) can't be read")
            }
            texts += String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
        }
        urls = []
        for text in texts.map(Self.trimmed) where !text.isEmpty { urls.append(try Self.url(text)) }
        if let name = values["page"] {
            guard let page = GalleryPageName(rawValue: name) else {
                throw Refusal(reason: "--page takes \(Self.pageNames)")
            }
            self.page = page
        }
        guard !urls.isEmpty || page != .grid else {
            throw Refusal(reason: "no URL in the arguments or in a --list")
        }
        cacheDirectory = values["cache-dir"].map { URL(filePath: $0) }
        screenshotPath = values["screenshot"]
        reportPath = values["report"]
        if reportPath != nil, screenshotPath == nil { throw Refusal(reason: "--report needs --screenshot") }
        if reportPath != nil, page != .grid { throw Refusal(reason: "--report is for the grid") }
        if let size = values["size"] { windowSize = try Self.size(size) }
    }

    private static func trimmed(_ text: String) -> String {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        return String(text.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }

    /// Returns the URL that `text` contains, or the file URL of a path.
    private static func url(_ text: String) throws(Refusal) -> URL {
        if !text.contains("://") { return URL(filePath: text) }
        guard let url = URL(string: text) else { throw Refusal(reason: "'\(text)' is not a URL") }
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
