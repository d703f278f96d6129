import CWebImageGTK
import Glibc
import WebImageGTK

/// The application: one window with a list of images and pages that show the views' features.
@MainActor final class Gallery {
    private let arguments: GalleryArguments
    private var window: GalleryWindow?
    private var recorder: ScreenshotRecorder?
    private var exitStatus: Int32 = 0

    init(arguments: GalleryArguments) { self.arguments = arguments }

    /// Runs until the window is closed or the screenshot is saved.
    ///
    /// - Returns: the exit status.
    func run() -> Int32 {
        guard gtk_init_check() != 0 else {
            complain("no display; set DISPLAY or WAYLAND_DISPLAY, or use xvfb-run")
            return 1
        }
        MainLoop.install()
        let loads = PhotoLoads(manager: makeManager())
        // Several instances may run at the same time, without a session bus.
        let application = ObjectPointer(gtk_application_new(nil, G_APPLICATION_NON_UNIQUE))
        defer { g_object_unref(application.address) }
        application.onSignal("activate") { [unowned self] in activate(application, loads) }
        let status = g_application_run(application.address.assumingMemoryBound(to: GApplication.self), 0, nil)
        return status == 0 ? exitStatus : status
    }

    private func makeManager() -> WebImageManager {
        guard let directory = arguments.cacheDirectory else { return .shared }
        let disk = DiskCache(configuration: DiskCache.Configuration(directory: directory))
        return WebImageManager(configuration: WebImageManager.Configuration(cache: ImageCache(disk: disk)))
    }

    private func activate(_ application: ObjectPointer, _ loads: PhotoLoads) {
        MainLoop.observe(application.address, managers: [loads.manager])
        let window = GalleryWindow(application: application, arguments: arguments, loads: loads)
        self.window = window
        window.present()
        guard let path = arguments.screenshotPath else { return }
        recorder = ScreenshotRecorder(window: window, path: path, reportPath: arguments.reportPath) { isComplete in
            self.exitStatus = isComplete ? 0 : 1
            Task {
                // Loaded images must be on disk for the next start.
                await (loads.manager.configuration.cache as? ImageCache)?.disk?.flush()
                g_application_quit(application.address.assumingMemoryBound(to: GApplication.self))
            }
        }
    }
}

/// The manager that loads the images, and the figures of its loads. All cells share it.
@MainActor final class PhotoLoads {
    let manager: WebImageManager
    var figures = LoadFigures() {
        didSet { onChange?() }
    }
    var onChange: (() -> Void)?

    init(manager: WebImageManager) { self.manager = manager }
}

/// Prints the program's name and `message` to standard error.
func complain(_ message: String) {
    var line = "Gallery: \(message)\n"
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
