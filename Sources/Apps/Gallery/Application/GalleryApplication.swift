import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import ProgramSupport
import WebImageGTK

/// The application: one window on the images of the command line, or on nothing.
@MainActor public final class GalleryApplication {
    private let arguments: GalleryArguments
    private let settings: GallerySettings
    private var window: GalleryWindow?
    private var recorder: ScreenshotRecorder?
    private var exitStatus: Int32 = 0

    init(arguments: GalleryArguments) {
        self.arguments = arguments
        // A run for a screenshot must not depend on what the user chose before.
        settings = GallerySettings(file: arguments.screenshotPath == nil ? GallerySettings.userFile : nil)
    }

    /// Runs the program.
    ///
    /// - Returns: the exit status.
    public static func main(_ arguments: [String]) -> Int32 {
        if let text = GalleryArguments.text(for: arguments) {
            print(text, terminator: "")
            return 0
        }
        do {
            return GalleryApplication(arguments: try GalleryArguments(parsing: arguments)).run()
        } catch {
            complain(
                error.reason + "\n"
                    + localized("Try '{command}'.", ["command": "\(GalleryArguments.programName) --help"]))
            return 2
        }
    }

    /// The arguments of the process. Those that are not UTF-8 are `file:` URLs.
    public static var commandLine: [String] {
        (0..<Int(CommandLine.argc)).compactMap { index in
            CommandLine.unsafeArgv[index].map { SystemString(cString: $0).location }
        }
    }

    /// Runs until the window is closed or the screenshot is saved.
    ///
    /// - Returns: the exit status.
    func run() -> Int32 {
        RendererChoice().apply()
        guard gtk_init_check() != 0 else {
            complain(localized("no display; set DISPLAY or WAYLAND_DISPLAY, or use xvfb-run"))
            return 1
        }
        MainLoop.install()
        // Several instances may run at the same time, also without a session bus.
        let application = ObjectPointer(adw_application_new(GalleryIcon.identifier, G_APPLICATION_NON_UNIQUE))
        defer { g_object_unref(application.address) }
        application.onSignal("activate") { [unowned self] in activate(application) }
        let status = g_application_run(application.as(GApplication.self), 0, nil)
        settings.flush()
        return status == 0 ? exitStatus : status
    }

    private func activate(_ application: ObjectPointer) {
        let session = GallerySession(cacheDirectory: arguments.cacheDirectory, settings: settings)
        MainLoop.observe(application.address, managers: [session.manager])
        show(arguments.colorScheme ?? settings.values.colorScheme)
        settings.observe(\.colorScheme) { [weak self] in self?.show($0) }
        let window = GalleryWindow(application: application, session: session, size: arguments.windowSize)
        self.window = window
        // The files are read while GTK makes the window.
        window.open(
            arguments.locations(orLast: settings.values), list: arguments.list, viewsImage: arguments.page == nil)
        window.present()
        if let page = arguments.page { window.show(page) }
        if let index = arguments.viewedIndex { window.view(index) }
        guard let path = arguments.screenshotPath else { return }
        recorder = ScreenshotRecorder(window: window, path: path, reportPath: arguments.reportPath) { isComplete in
            self.exitStatus = isComplete ? 0 : 1
            Task {
                // Loaded images must be on disk for the next start.
                await session.cache.flush()
                g_application_quit(application.as(GApplication.self))
            }
        }
    }

    private func show(_ scheme: ColorSchemeChoice) {
        let value =
            switch scheme {
            case .system: ADW_COLOR_SCHEME_DEFAULT
            case .light: ADW_COLOR_SCHEME_FORCE_LIGHT
            case .dark: ADW_COLOR_SCHEME_FORCE_DARK
            }
        adw_style_manager_set_color_scheme(adw_style_manager_get_default(), value)
    }
}
