import BenchmarkSupport
import CWebImageGTK
import Foundation
import GTKObjects
import WebImageGTK

/// Thumbnails of 128 × 128 points that are on disk as pixels, in a grid that a new process shows and scrolls through from the
/// first to the last.
@MainActor final class WarmGridRun {
    private nonisolated static let side = 128
    private static let pointsPerFrame = 400.0

    private let directory: String
    private let count: Int
    private var pictures: [ObjectPointer: WebPicture] = [:]
    private let window = ObjectPointer(gtk_window_new())
    private let scrolledWindow = ObjectPointer(gtk_scrolled_window_new())

    /// - Parameter arguments: the cache's folder, and how many there are.
    init(_ arguments: [String]) throws {
        guard arguments.count == 2, let count = Int(arguments[1]) else {
            throw WrongResult(description: "warm-grid FOLDER COUNT")
        }
        (directory, self.count) = (arguments[0], count)
    }

    /// Loads all thumbnails once, as a view would.
    nonisolated static func fill(_ directory: String, count: Int, from photographs: Photographs) throws {
        let files = try (0..<photographs.count).map { try Data(contentsOf: URL(filePath: photographs.path(of: $0))) }
        let isStored = DispatchSemaphore(value: 0)
        Task.detached {
            let cache = cache(directory)
            let manager = WebImageManager(configuration: WebImageManager.Configuration(cache: cache))
            for number in 0..<count {
                guard let url = url(of: number) else { continue }
                cache.disk?.store(files[number % files.count], for: url.absoluteString)
                // Writes that would wait too long are dropped.
                if number % 200 == 199 { await cache.disk?.flush() }
            }
            await cache.disk?.flush()
            for number in 0..<count {
                guard let url = url(of: number) else { continue }
                var request = WebImageRequest(url)
                request.thumbnail = Thumbnail(
                    .points(width: Double(side), height: Double(side)), scale: 1, mode: .aspectFill)
                request.scale = 1
                request.keepsPixels = true
                _ = try? await manager.image(for: request)
                if number % 200 == 199 { await cache.flushPixels() }
            }
            await cache.flushPixels()
            isStored.signal()
        }
        isStored.wait()
    }

    func figures() throws -> [String: Double] {
        let decodes = LockBox(0)
        CodecRegistry.shared.register(CountingDecoder(decodes: decodes))
        MainLoop.install()
        let manager = WebImageManager(configuration: WebImageManager.Configuration(cache: Self.cache(directory)))
        show(manager)
        let start = g_get_monotonic_time()
        gtk_window_present(window.address.assumingMemoryBound(to: GtkWindow.self))
        var mapped: gint64?
        try wait("the first screen") {
            if mapped == nil, gtk_widget_get_mapped(window.widget) != 0 { mapped = g_get_monotonic_time() }
            return isComplete
        }
        let shown = g_get_monotonic_time()
        let (frames, late) = try scroll()
        try wait("the last screen") { isComplete }
        return [
            "present": Double((mapped ?? shown) - start) / 1000, "first": Double(shown - (mapped ?? start)) / 1000,
            "fps": frames, "late": late, "decodes": Double(decodes.withLock { $0 }),
            "fromDisk": Double(manager.counters.diskHits), "peak": ProcessFigures.peakMebibytes,
        ]
    }

    /// Whether all cells in sight show an image.
    private var isComplete: Bool {
        let visible = pictures.filter { gtk_widget_get_mapped($0.key.widget) != 0 }
        // Six in a row, and more rows than fit in the window.
        return visible.count >= 36 && visible.allSatisfy { $0.value.image != nil }
    }

    private func wait(_ what: String, until condition: () -> Bool) throws {
        let deadline = g_get_monotonic_time() + 60_000_000
        while !condition() {
            guard g_get_monotonic_time() < deadline else {
                throw WrongResult(
                    description:
                        "no \(what): \(gtk_adjustment_get_value(gtk_scrolled_window_get_vadjustment(scrolledWindow.opaque)))"
                )
            }
            g_main_context_iteration(nil, gboolean(1))
        }
    }

    private func show(_ manager: WebImageManager) {
        let model = gtk_string_list_new(nil)
        for row in 0..<count { gtk_string_list_append(model, "\(row)") }
        let factory = WebPicture.makeListItemFactory { [weak self] picture in
            gtk_widget_set_size_request(picture.widget, gint(Self.side), gint(Self.side))
            picture.contentMode = .scaleAspectFill
            picture.decodesAtDisplaySize = true
            let pointer = ObjectPointer(picture.widget)
            self?.pictures[pointer] = picture
            pointer.onSignal("destroy") { self?.pictures[pointer] = nil }
            return picture.widget
        } bind: { picture, position, _ in
            picture.setImage(Self.url(of: position), manager: manager)
        }
        let grid = ObjectPointer(gtk_grid_view_new(ObjectPointer(gtk_no_selection_new(model)).opaque, factory))
        gtk_grid_view_set_min_columns(grid.opaque, 6)
        gtk_grid_view_set_max_columns(grid.opaque, 6)
        gtk_scrolled_window_set_child(scrolledWindow.opaque, grid.widget)
        let window = window.address.assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_default_size(window, 860, 760)
        gtk_window_set_child(window, scrolledWindow.widget)
    }

    /// To the end. Returns frames a second, and the share of those that took longer than 25 ms.
    private func scroll() throws -> (framesPerSecond: Double, latePercent: Double) {
        let adjustment = gtk_scrolled_window_get_vadjustment(scrolledWindow.opaque)
        let page = { gtk_adjustment_get_page_size(adjustment) }
        try wait("height") { gtk_adjustment_get_upper(adjustment) > page() * 2 }
        var frames: [Double] = []
        let ticker = FrameCall(widget: scrolledWindow.widget) {
            frames.append(Double(g_get_monotonic_time()) / 1000)
            gtk_adjustment_set_value(adjustment, gtk_adjustment_get_value(adjustment) + Self.pointsPerFrame)
        }
        try wait("end") { gtk_adjustment_get_value(adjustment) >= gtk_adjustment_get_upper(adjustment) - page() - 1 }
        ticker.stop()
        let times = zip(frames.dropFirst(), frames).map { $0 - $1 }
        let late = Double(times.filter { $0 > 25 }.count) / Double(max(1, times.count)) * 100
        return (Double(times.count) / (((frames.last ?? 0) - (frames.first ?? 0)) / 1000), late)
    }

    private nonisolated static func url(of number: Int) -> URL? {
        URL(string: "http://127.0.0.1:9/\(number).jpg")
    }

    private nonisolated static func cache(_ directory: String) -> ImageCache {
        let disk = DiskCache(
            configuration: DiskCache.Configuration(directory: URL(filePath: directory, directoryHint: .isDirectory)))
        // Fewer than are shown, so that most come from the disk.
        return ImageCache(memory: MemoryCache(costLimit: 64 << 20), disk: disk)
    }
}

/// Counts, and leaves the decoding to the decoders behind it.
private struct CountingDecoder: ImageDecoder {
    let decodes: LockBox<Int>
    let format = ImageFormat.jpeg

    func canDecode(_ data: Data) -> Bool { ImageFormat(signatureOf: data) == format }

    func info(of data: Data) throws(WebImageError) -> ImageInfo { throw unsupported }

    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        decodes.withLock { $0 += 1 }
        throw unsupported
    }

    private var unsupported: WebImageError { .decoding(format: format, reason: .unsupported("only counted")) }
}
