import CWebImageGTK
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
                nonisolated(unsafe) let pointer = ObjectPointer(clock)
                return MainActor.assumeIsolated { recorder.takeUnretainedValue().frameBegins(pointer) }
            }, Unmanaged.passRetained(self).toOpaque(),
            { data in if let data { Unmanaged<ScreenshotRecorder>.fromOpaque(data).release() } })
    }

    /// - Returns: non-zero to continue with the next frame.
    private func frameBegins(_ clock: ObjectPointer) -> gboolean {
        settledFrameCount = window.page?.isSettled != false ? settledFrameCount + 1 : 0
        let isLate = ContinuousClock.now > deadline
        if isLate { complain("some pictures are still loading after \(Self.timeLimit) s") }
        // The first settled frames still lay out and draw earlier changes.
        guard settledFrameCount > 2 || isLate else { return gboolean(1) }
        // Records after the frame: a widget that requests a redraw, as a spinner does in each frame, has no drawing until the frame
        // ends.
        paintConnection = clock.onSignal("after-paint") { [self] in
            if let paintConnection { clock.disconnect(paintConnection) }
            record()
        }
        return gboolean(0)
    }

    private func record() {
        let screenshot = WindowScreenshot(of: window.widget)
        var isWritten = screenshot.save(to: path)
        if !isWritten { complain("the screenshot can't be written to \(path)") }
        guard window.page === window.grid else { return whenDone(isWritten && window.page?.isComplete == true) }
        let report = GalleryReport(of: window, in: screenshot)
        if let reportPath, !report.write(to: reportPath) {
            isWritten = false
            complain("the report can't be written to \(reportPath)")
        }
        print(report.figures.line)
        for cell in report.cells { if let error = cell.error { complain("\(cell.url): \(error)") } }
        whenDone(isWritten && report.isComplete)
    }
}
