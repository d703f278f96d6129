import FoundationEssentials
import WebImageGTK

/// The content of `--report`: the figures, and the position of each image in the screenshot.
struct GalleryReport: Encodable {
    /// A visible cell. Coordinates and sizes are in pixels of the screenshot. The image covers the cell and is cropped
    /// evenly on both sides.
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
    /// The number of loaded images.
    var loaded: Int
    /// The line that the program prints.
    var line: String
    var width: Int
    var height: Int
    /// The background of transparent images, as a CSS color.
    var backdrop = PhotoCell.backdrop
    var cells: [Cell]

    var isComplete: Bool { !cells.isEmpty && cells.allSatisfy { $0.state == "loaded" } }

    @MainActor init(of window: GalleryWindow, in screenshot: WindowScreenshot) {
        figures = LoadFigures(window.session.loads.records)
        (loaded, line) = (figures.loaded, figures.line)
        (width, height) = (screenshot.size.width, screenshot.size.height)
        let view = screenshot.frame(of: window.photos.grid.widget.widget)
        cells = window.photos.grid.boundCells.filter(\.isOnScreen).compactMap { cell in
            guard let item = cell.item else { return nil }
            let frame = screenshot.frame(of: cell.widget.widget)
            var entry = Cell(
                index: item.index, url: item.url.displayText, x: frame.x, y: frame.y, width: frame.width,
                height: frame.height, isWhole: frame.y >= view.y && frame.y + frame.height <= view.y + view.height,
                state: "loading")
            switch cell.picture.loadState {
            case .loaded(let origin):
                entry.state = "loaded"
                entry.source = LoadSource(origin, of: item.url).rawValue
            case .failed(let error):
                entry.state = "failed"
                entry.error = (error.subject == nil ? "\(entry.url): " : "") + error.userDescription
            case .idle, .loading:
                break
            }
            return entry
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

/// Counts and bytes of the loads of a run.
struct LoadFigures: Encodable {
    private(set) var memory = 0
    private(set) var disk = 0
    private(set) var network = 0
    private(set) var files = 0
    private(set) var failed = 0
    /// The size of the loaded files in bytes. Images from memory count 0.
    private(set) var bytes = 0
    /// The time from the start of the first load to the end of the last.
    private(set) var milliseconds = 0.0

    var loaded: Int { memory + disk + network + files }

    init(_ records: [LoadRecord]) {
        for record in records {
            bytes += record.byteCount
            switch record.source {
            case .memory: memory += 1
            case .disk: disk += 1
            case .network: network += 1
            case .file: files += 1
            case .failed: failed += 1
            }
        }
        guard let first = records.map(\.start).min(), let last = records.map(\.date).max() else { return }
        milliseconds = last.timeIntervalSince(first) * 1_000
    }

    /// Such as `24 loaded: 0 memory, 24 disk, 0 network · 12.3 MiB · 412 ms`.
    var line: String {
        return "\(loaded) loaded: \(memory) memory, \(disk) disk, \(network) network"
            + (files > 0 ? ", \(files) files" : "") + (failed > 0 ? ", \(failed) failed" : "")
            + " · \(Amount.bytes(bytes)) · \(Int(milliseconds.rounded())) ms"
    }

    enum CodingKeys: CodingKey {
        case memory, disk, network, files, failed, bytes, milliseconds
    }
}
