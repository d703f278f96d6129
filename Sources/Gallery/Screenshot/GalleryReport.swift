import FoundationEssentials
import WebImageGTK

/// What `--report` writes: the figures, and where which picture is in the screenshot.
struct GalleryReport: Encodable {
    /// A cell of which something is in sight. Lengths are pixels of the screenshot; the picture fills the cell, scaled to
    /// cover it and cut off evenly on both sides.
    struct Cell: Encodable {
        var index: Int
        var url: String
        var x: Int
        var y: Int
        var width: Int
        var height: Int
        /// Whether all of it is in sight.
        var isWhole: Bool
        /// `loaded` or `failed`; `loading` when the time was up.
        var state: String
        /// `memory`, `disk`, `network` or `file`.
        var source: String?
        var error: String?
    }

    var figures: LoadFigures
    var width: Int
    var height: Int
    /// What transparent parts of pictures show, as in CSS.
    var backdrop = PhotoCell.backdrop
    var cells: [Cell]

    var isComplete: Bool { !cells.isEmpty && cells.allSatisfy { $0.state == "loaded" } }

    @MainActor init(of window: GalleryWindow, in screenshot: WindowScreenshot) {
        figures = window.loads.figures
        (width, height) = (screenshot.size.width, screenshot.size.height)
        let view = screenshot.frame(of: window.grid.widget)
        cells = window.grid.boundCells.filter(\.isOnScreen).compactMap { cell in
            guard let item = cell.item else { return nil }
            let frame = screenshot.frame(of: cell.picture.widget)
            var entry = Cell(
                index: item.index, url: item.url.absoluteString, x: frame.x, y: frame.y, width: frame.width,
                height: frame.height, isWhole: frame.y >= view.y && frame.y + frame.height <= view.y + view.height,
                state: "loading")
            switch cell.picture.loadState {
            case .loaded(let origin):
                entry.state = "loaded"
                entry.source = Self.name(of: origin, for: item.url)
            case .failed(let error):
                entry.state = "failed"
                entry.error = "\(error)"
            case .idle, .loading:
                break
            }
            return entry
        }
    }

    private static func name(of origin: ImageOrigin, for url: URL) -> String? {
        switch origin {
        case .none: nil
        case .memoryCacheFast, .memoryCache: "memory"
        case .diskCache: "disk"
        case .remote: url.isFileURL ? "file" : "network"
        }
    }

    /// Writes it as JSON; `false` when that fails.
    func write(to path: String) -> Bool {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { return false }
        return (try? data.write(to: URL(filePath: path))) != nil
    }
}
