import CWebImageGTK
import GTKObjects
import WebImageGTK

/// Waits until the page is settled, then saves the screenshot and the report.
@MainActor final class ScreenshotRecorder {
    private let window: GalleryWindow
    private let path: String
    private let reportPath: String?
    private let whenDone: (_ isComplete: Bool) -> Void
    private var settledFrameCount = 0
    private var paintConnection: SignalConnection?
    private let deadline = ContinuousClock.now + .seconds(timeLimit)

    /// The longest wait in seconds. Stalled loads fail earlier, because the idle timeout is shorter.
    private static let timeLimit = 90

    /// - Parameter whenDone: gets whether all visible images have loaded and all files were written.
    init(window: GalleryWindow, path: String, reportPath: String?, whenDone: @escaping (_ isComplete: Bool) -> Void) {
        self.window = window
        self.path = path
        self.reportPath = reportPath
        self.whenDone = whenDone
        gtk_widget_add_tick_callback(
            window.widget.widget,
            { _, clock, data in
                guard let clock, let data else { return gboolean(0) }
                let recorder = Unmanaged<ScreenshotRecorder>.fromOpaque(data)
                return onMainThread(ObjectPointer(clock)) { recorder.takeUnretainedValue().frameBegins($0) }
            }, Unmanaged.passRetained(self).toOpaque(),
            { data in if let data { Unmanaged<ScreenshotRecorder>.fromOpaque(data).release() } })
    }

    /// - Returns: non-zero to continue with the next frame.
    private func frameBegins(_ clock: ObjectPointer) -> gboolean {
        settledFrameCount = window.isSettled ? settledFrameCount + 1 : 0
        let isLate = ContinuousClock.now > deadline
        if isLate {
            complain(localized("some images are still loading after {seconds} s", ["seconds": "\(Self.timeLimit)"]))
        }
        // The first settled frames still lay out and draw earlier changes.
        guard settledFrameCount > 2 || isLate else { return gboolean(1) }
        // Records after the frame: a widget that requests a redraw, as a spinner does in each frame, has no drawing
        // until the frame ends.
        paintConnection = clock.onSignal("after-paint") { [self] in
            if let paintConnection { clock.disconnect(paintConnection) }
            record()
        }
        return gboolean(0)
    }

    private func record() {
        let screenshot = WindowScreenshot(of: window.widget)
        var isWritten = screenshot.save(to: path)
        if !isWritten { complain(localized("the screenshot cannot be written to {path}", ["path": path])) }
        guard window.shownPage == "photos" else { return whenDone(isWritten && window.isComplete) }
        let report = GalleryReport(of: window, in: screenshot)
        if let reportPath, !report.write(to: reportPath) {
            isWritten = false
            complain(localized("the report cannot be written to {path}", ["path": reportPath]))
        }
        print(report.figures.line)
        let failures = report.cells.compactMap(\.error) + [window.photos.openingFailure].compactMap(\.self)
        for failure in failures { complain(failure) }
        whenDone(isWritten && report.isComplete && failures.isEmpty)
    }
}

/// A screenshot of a window with its frame and shadow, taken inside the process.
@MainActor struct WindowScreenshot {
    private let window: ObjectPointer
    /// The area that the window draws, in points and in its own coordinates. The frame and shadow lie outside the
    /// content.
    private let bounds: graphene_rect_t
    /// Pixels per point.
    private let scale: Double

    init(of window: ObjectPointer) {
        self.window = window
        scale = Double(gtk_widget_get_scale_factor(window.widget))
        var bounds = graphene_rect_t()
        _ = gtk_widget_compute_bounds(window.widget, window.widget, &bounds)
        self.bounds = bounds
    }

    /// The size in pixels.
    var size: PixelSize {
        PixelSize(
            width: Int((Double(bounds.size.width) * scale).rounded(.up)),
            height: Int((Double(bounds.size.height) * scale).rounded(.up)))
    }

    /// Saves the screenshot as a PNG file. Returns `false` if drawing or writing failed.
    func save(to path: String) -> Bool {
        guard let node = renderNode() else { return false }
        defer { gsk_render_node_unref(node) }
        guard let renderer = gtk_native_get_renderer(gtk_widget_get_native(window.widget)) else { return false }
        var area = graphene_rect_t(
            origin: graphene_point_t(x: 0, y: 0),
            size: graphene_size_t(width: Float(size.width), height: Float(size.height)))
        guard let texture = gsk_renderer_render_texture(renderer, node, &area) else { return false }
        defer { g_object_unref(UnsafeMutableRawPointer(texture)) }
        return gdk_texture_save_to_png(texture, path) != 0
    }

    /// Returns the position and size of `widget` in the screenshot, in pixels.
    func frame(of widget: UnsafeMutablePointer<GtkWidget>) -> (x: Int, y: Int, width: Int, height: Int) {
        var frame = graphene_rect_t()
        _ = gtk_widget_compute_bounds(widget, window.widget, &frame)
        func pixels(_ points: Float) -> Int { Int((Double(points) * scale).rounded()) }
        return (
            pixels(frame.origin.x - bounds.origin.x), pixels(frame.origin.y - bounds.origin.y),
            pixels(frame.size.width), pixels(frame.size.height)
        )
    }

    private func renderNode() -> OpaquePointer? {
        let paintable = gtk_widget_paintable_new(window.widget)
        defer { g_object_unref(paintable.map { UnsafeMutableRawPointer($0) }) }
        let snapshot = gtk_snapshot_new()
        gdk_paintable_snapshot(
            paintable, snapshot, Double(bounds.size.width) * scale, Double(bounds.size.height) * scale)
        return gtk_snapshot_free_to_node(snapshot)
    }
}
