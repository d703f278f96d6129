import BenchmarkSupport
import CWebImageGTK
import Foundation
import GTKObjects
import WebImageGTK

/// A `GtkGridView` of 100,000 rows, six columns of 128 points, scrolled by a script: what shows the images is ours,
/// or one of its yardsticks.
@MainActor final class GridRun {
    /// The way in which the image of a cell is set.
    enum Peer: String, CaseIterable {
        /// ``WebPicture/makeListItemFactory(makeCell:unbind:bind:)``, files in the disk cache, decoded at the size of
        /// the cell.
        case ours
        /// `gtk_picture_set_filename`, in the bind.
        case filename
        /// `gdk_pixbuf_new_from_file_at_scale`, in the bind.
        case pixbuf
        /// Textures that are there already: what scrolling itself takes.
        case ready
    }

    /// A memory cache of so many bytes holds fewer images than go by, so that they are decoded again and again.
    private static let memoryByteCount = 16 << 20
    private static let rowCount = 100_000
    private static let side: gint = 128

    private let peer: Peer
    private let photographs: Photographs
    private let seconds: Double
    private let window = ObjectPointer(gtk_window_new())
    private let scrolledWindow = ObjectPointer(gtk_scrolled_window_new())
    /// The rows of the cells that are bound.
    private var rows: [ObjectPointer: Int] = [:]
    private var bindCount = 0
    private var bindMicroseconds = 0.0
    private var manager: WebImageManager?
    private var textures: [OpaquePointer] = []
    private var directory: String { photographs.directory }

    /// - Parameter arguments: the peer, the photographs' folder, how many there are, seconds for each speed.
    init(_ arguments: [String]) throws {
        guard arguments.count == 4, let peer = Peer(rawValue: arguments[0]), let count = Int(arguments[2]),
            let seconds = Double(arguments[3])
        else { throw WrongResult(description: "grid PEER FOLDER COUNT SECONDS") }
        (self.peer, self.seconds) = (peer, seconds)
        photographs = Photographs(directory: arguments[1], count: count)
    }

    func figures() throws -> [String: Double] {
        MainLoop.install()
        try prepare()
        showWindow()
        try waitForPictures("at the start")
        // To where the list has cells before and behind the visible ones.
        _ = scroll(by: 200, for: min(1, seconds))
        try waitForPictures("before the scrolling")
        var figures: [String: Double] = [:]
        for step in [20.0, 200.0] {
            let run = scroll(by: step, for: seconds)
            for (name, value) in run { figures["\(name)\(Int(step))"] = value }
        }
        try waitForPictures("after the scrolling")
        figures["peak"] = ProcessFigures.peakMebibytes
        return figures
    }

    // MARK: Images

    private func prepare() throws {
        switch peer {
        case .ours:
            let disk = DiskCache(
                configuration: DiskCache.Configuration(
                    directory: URL(filePath: directory + "/cache", directoryHint: .isDirectory)))
            manager = WebImageManager(
                configuration: WebImageManager.Configuration(
                    cache: ImageCache(memory: MemoryCache(costLimit: Self.memoryByteCount), disk: disk)))
        case .ready:
            for number in 0..<min(64, photographs.count) {
                let pixbuf = gdk_pixbuf_new_from_file_at_scale(
                    photographs.path(of: number), -1, Self.side, gboolean(1), nil)
                guard let pixbuf, let texture = gdk_texture_new_for_pixbuf(pixbuf) else { continue }
                textures.append(texture)
            }
        case .filename, .pixbuf: break
        }
    }

    private func number(ofRow row: Int) -> Int { row % (peer == .ready ? textures.count : photographs.count) }

    private func makeFactory() -> OpaquePointer {
        guard peer != .ours else {
            let manager = manager ?? .shared
            return WebPicture.makeListItemFactory { [weak self] picture in
                Self.size(picture.widget)
                picture.contentMode = .scaleAspectFill
                picture.decodesAtDisplaySize = true
                let pointer = ObjectPointer(picture.widget)
                pointer.onSignal("destroy") {
                    self?.rows[pointer] = nil
                }
                return picture.widget
            } bind: { [weak self] picture, position, _ in
                guard let self else { return }
                timed { picture.setImage(Self.url(of: self.number(ofRow: position)), manager: manager) }
                rows[ObjectPointer(picture.widget)] = position
            }
        }
        let factory = ObjectPointer(gtk_signal_list_item_factory_new())
        factory.onSignal("setup") { [weak self] (item: ObjectPointer) in
            let picture = ObjectPointer(gtk_picture_new())
            picture.onSignal("destroy") { self?.rows[picture] = nil }
            Self.size(picture.widget)
            gtk_picture_set_content_fit(picture.opaque, GTK_CONTENT_FIT_COVER)
            gtk_list_item_set_child(item.opaque, picture.widget)
        }
        factory.onSignal("bind") { [weak self] (item: ObjectPointer) in
            guard let self, let child = gtk_list_item_get_child(item.opaque) else { return }
            let row = Int(gtk_list_item_get_position(item.opaque))
            timed { self.show(self.number(ofRow: row), in: ObjectPointer(child)) }
            rows[ObjectPointer(child)] = row
        }
        return factory.opaque
    }

    private func show(_ number: Int, in picture: ObjectPointer) {
        switch peer {
        case .ours: break
        case .ready: gtk_picture_set_paintable(picture.opaque, textures[number])
        case .filename: gtk_picture_set_filename(picture.opaque, photographs.path(of: number))
        case .pixbuf:
            let pixbuf = gdk_pixbuf_new_from_file_at_scale(
                photographs.path(of: number), -1, Self.side, gboolean(1), nil)
            guard let pixbuf, let texture = gdk_texture_new_for_pixbuf(pixbuf) else { return }
            gtk_picture_set_paintable(picture.opaque, texture)
            g_object_unref(UnsafeMutableRawPointer(texture))
            g_object_unref(UnsafeMutableRawPointer(pixbuf))
        }
    }

    private nonisolated static func url(of number: Int) -> URL? {
        URL(string: "http://127.0.0.1:9/\(number).jpg")
    }

    private static func size(_ widget: UnsafeMutablePointer<GtkWidget>) {
        gtk_widget_set_size_request(widget, side, side)
        gtk_widget_set_overflow(widget, GTK_OVERFLOW_HIDDEN)
    }

    /// Puts the photographs into the disk cache that ours reads.
    nonisolated static func fillCache(from photographs: Photographs) throws {
        let disk = DiskCache(
            configuration: DiskCache.Configuration(
                directory: URL(filePath: photographs.directory + "/cache", directoryHint: .isDirectory)))
        for number in 0..<photographs.count {
            guard let url = url(of: number) else { continue }
            disk.store(try Data(contentsOf: URL(filePath: photographs.path(of: number))), for: url.absoluteString)
        }
        let isStored = DispatchSemaphore(value: 0)
        Task.detached {
            await disk.flush()
            isStored.signal()
        }
        isStored.wait()
    }

    private func timed(_ body: () -> Void) {
        let start = ProcessFigures.mainThread
        body()
        bindMicroseconds += (ProcessFigures.mainThread - start) / .microseconds(1)
        bindCount += 1
    }

    // MARK: Window

    private func showWindow() {
        let model = gtk_string_list_new(nil)
        for row in 0..<Self.rowCount { gtk_string_list_append(model, "\(row)") }
        let grid = ObjectPointer(gtk_grid_view_new(ObjectPointer(gtk_no_selection_new(model)).opaque, makeFactory()))
        gtk_grid_view_set_min_columns(grid.opaque, 6)
        gtk_grid_view_set_max_columns(grid.opaque, 6)
        gtk_scrolled_window_set_child(scrolledWindow.opaque, grid.widget)
        let window = window.address.assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_default_size(window, 860, 760)
        gtk_window_set_child(window, scrolledWindow.widget)
        gtk_window_present(window)
    }

    /// Waits until each cell in sight draws the image of its row, for at most 20 s.
    private func waitForPictures(_ when: String) throws {
        let deadline = g_get_monotonic_time() + 20_000_000
        var (wrong, count) = (0, 0)
        repeat {
            // Some frames: looking costs as much as drawing.
            let next = g_get_monotonic_time() + 100_000
            while g_get_monotonic_time() < next { g_main_context_iteration(nil, gboolean(0)) }
            let visible = rows.filter { gtk_widget_get_mapped($0.key.widget) != 0 }
            count = visible.count
            wrong = visible.filter { Photographs.number(drawnBy: $0.key.widget) != number(ofRow: $0.value) }.count
        } while (wrong > 0 || count < 12) && g_get_monotonic_time() < deadline
        guard wrong == 0, count >= 12 else {
            throw WrongResult(
                description: "\(peer.rawValue), \(when): \(wrong) of \(count) cells do not show their picture")
        }
    }

    // MARK: Scrolling

    private func scroll(by step: Double, for seconds: Double) -> [String: Double] {
        let adjustment = gtk_scrolled_window_get_vadjustment(scrolledWindow.opaque)
        var frames: [Double] = []
        let end = Double(g_get_monotonic_time()) / 1e6 + seconds
        let ticker = FrameCall(widget: scrolledWindow.widget) {
            frames.append(Double(g_get_monotonic_time()) / 1000)
            gtk_adjustment_set_value(adjustment, gtk_adjustment_get_value(adjustment) + step)
        }
        (bindCount, bindMicroseconds) = (0, 0)
        let start = ProcessFigures()
        while Double(g_get_monotonic_time()) / 1e6 < end { g_main_context_iteration(nil, gboolean(1)) }
        let used = ProcessFigures()
        ticker.stop()
        let shares = used.shares(since: start)
        let times = zip(frames.dropFirst(), frames).map { $0 - $1 }
        let late = times.filter { $0 > 25 }.count
        return [
            "fps": Double(times.count) / (((frames.last ?? 0) - (frames.first ?? 0)) / 1000),
            "late": Double(late) / Double(max(1, times.count)) * 100, "cpu": shares.all * 100,
            "main": shares.main * 100, "binds": Double(bindCount) / (used.wall - start.wall),
            "bind": bindMicroseconds / Double(max(1, bindCount)),
        ]
    }
}

/// Calls a function for each frame of a widget's window.
@MainActor final class FrameCall {
    private let widget: UnsafeMutablePointer<GtkWidget>
    private let body: @MainActor () -> Void
    private var tickID: guint = 0

    init(widget: UnsafeMutablePointer<GtkWidget>, _ body: @escaping @MainActor () -> Void) {
        (self.widget, self.body) = (widget, body)
        tickID = gtk_widget_add_tick_callback(
            widget,
            { _, _, data in
                guard let data else { return gboolean(0) }
                let ticker = Unmanaged<FrameCall>.fromOpaque(data)
                MainActor.assumeIsolated { ticker.takeUnretainedValue().body() }
                return gboolean(1)
            }, Unmanaged.passRetained(self).toOpaque(),
            { data in if let data { Unmanaged<FrameCall>.fromOpaque(data).release() } })
    }

    func stop() { gtk_widget_remove_tick_callback(widget, tickID) }
}
