import FoundationEssentials
import WebImageGTK

/// The content of `--report`: the figures, and the position of each image in the screenshot.
struct GalleryReport: Encodable {
    /// A visible cell. Coordinates and sizes are in pixels of the screenshot. The image covers the cell and is cropped evenly on
    /// both sides.
    struct Cell: Encodable {
        var index: Int
        var url: String
        var x: Int
        var y: Int
        var width: Int
        var height: Int
        /// Whether the whole cell is visible.
        var isWhole: Bool
        /// `loaded` or `failed`; `loading` if the time limit was reached.
        var state: String
        /// `memory`, `disk`, `network` or `file`.
        var source: String?
        var error: String?
    }

    var figures: LoadFigures
    var width: Int
    var height: Int
    /// The background of transparent images, as a CSS color.
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

    /// Writes the report as JSON. Returns `false` on failure.
    func write(to path: String) -> Bool {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { return false }
        return (try? data.write(to: URL(filePath: path))) != nil
    }
}
