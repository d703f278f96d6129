import CWebImageGTK
import WebImageGTK

/// A window with 500 views, whose images are decoded and come through the apply queue: as it is, and redrawn all the time.
@MainActor final class BusyRun {
    static let count = 500
    private static let columnCount = 25
    private static let side: gint = 24

    private let window = ObjectPointer(gtk_window_new())
    private let pictures = (0..<count).map { _ in WebPicture() }
    private let images: [Image]
    private var redrawing: FrameCall?
    private var remainingCount = 0
    private var isPainted = false

    init() throws {
        images = try (0..<Self.count).map { number in
            try Image(
                color: Color(red: Double(number % 20) / 19, green: Double(number / 20) / 24, blue: 0.5),
                size: PointSize(width: Double(Self.side), height: Double(Self.side)))
        }
        let grid = ObjectPointer(gtk_grid_new())
        for (index, picture) in pictures.enumerated() {
            gtk_widget_set_size_request(picture.widget, Self.side, Self.side)
            gtk_grid_attach(
                grid.address.assumingMemoryBound(to: GtkGrid.self), picture.widget,
                gint(index % Self.columnCount), gint(index / Self.columnCount), 1, 1)
        }
        let window = window.address.assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_child(window, grid.widget)
        gtk_window_present(window)
        while gtk_widget_get_mapped(self.window.widget) == 0 { g_main_context_iteration(nil, gboolean(1)) }
        if let clock = gtk_widget_get_frame_clock(self.window.widget) {
            ObjectPointer(clock).onSignal("after-paint") { [weak self] in
                guard let self, remainingCount == 0 else { return }
                isPainted = true
            }
        }
    }

    func close() {
        redrawing?.stop()
        gtk_window_destroy(window.address.assumingMemoryBound(to: GtkWindow.self))
    }

    /// Begins to redraw the window in each frame.
    func redrawAllTheTime() {
        let widget = window.widget
        redrawing = FrameCall(widget: widget) { gtk_widget_queue_draw(widget) }
    }

    /// The time from the first result to the frame that shows the last one: the median of nine rounds.
    func medianTime() -> Duration {
        let times = (0..<9).map { round in
            remainingCount = Self.count
            isPainted = false
            let start = ContinuousClock.now
            for (index, picture) in pictures.enumerated() {
                let image = images[(index + round) % images.count]
                ApplyQueue.main.enqueue { [weak self] in
                    MainActor.assumeIsolated {
                        picture.setImage(image)
                        self?.remainingCount -= 1
                    }
                }
            }
            while !isPainted { g_main_context_iteration(nil, gboolean(1)) }
            return ContinuousClock.now - start
        }
        return times.sorted()[times.count / 2]
    }
}
