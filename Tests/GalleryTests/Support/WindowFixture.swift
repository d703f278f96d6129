import CWebImageAdwaita
import CWebImageGTK
import Foundation
import GTKObjects
import WebImageTestSupport
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// The whole window, on a folder in the home directory, whose file system has a trash.
@MainActor final class WindowFixture {
    let folder: URL
    let session: GallerySession
    let window: GalleryWindow
    /// The files that the folder has at first.
    let urls: [URL]
    private(set) var toasts: [(message: String, button: GallerySession.ToastButton?)] = []

    /// - Parameter names: those of the images in the folder.
    private init(
        _ names: [String], of application: ObjectPointer, width: Int,
        configure: (inout WebImageManager.Configuration) -> Void
    ) throws {
        let folder = URL(filePath: TestHome.directory).appending(path: UUID().uuidString)
        self.folder = folder
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        session = GallerySession(cacheDirectory: folder.appending(path: ".cache"), configure: configure)
        window = GalleryWindow(application: application, session: session, size: PixelSize(width: width, height: 700))
        urls = names.map { folder.appending(path: $0) }
        session.onToast = { [weak self] in self?.toasts.append(($0, $1)) }
        for (number, name) in names.enumerated() { try write(name, red: UInt8(number * 5)) }
        window.present()
    }

    /// Calls `body` with a fixture in an application of its own, and closes it.
    nonisolated static func with(
        _ names: [String], width: Int = 900,
        configure: @escaping @MainActor (inout WebImageManager.Configuration) -> Void = { _ in },
        _ body: @escaping @MainActor (WindowFixture) throws -> Void
    ) throws {
        try MainActor.assumeIsolated {
            try runApplication(ObjectPointer(adw_application_new(nil, G_APPLICATION_NON_UNIQUE))) { application in
                let fixture = try WindowFixture(names, of: application, width: width, configure: configure)
                defer { fixture.close() }
                try body(fixture)
            }
        }
    }

    /// Calls `body` with a fixture that shows the images `0.png` to `2.png`.
    nonisolated static func withImages(
        width: Int = 1_000, configure: @escaping @MainActor (inout WebImageManager.Configuration) -> Void = { _ in },
        _ body: @escaping @MainActor (WindowFixture) throws -> Void
    ) throws {
        try with(["0.png", "1.png", "2.png"], width: width, configure: configure) { fixture in
            fixture.open()
            try body(fixture)
        }
    }

    func close() {
        gtk_window_destroy(window.widget.as())
        pumpUntilIdle()
        end(session.manager)
        TemporaryDirectory.remove(folder.path)
    }

    /// Writes an image of one color.
    @discardableResult func write(_ name: String, red: UInt8, width: Int = 60) throws -> URL {
        let file = folder.appending(path: name)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        let swatch = Swatch(red: red, green: 90, blue: 0, width: width)
        try CodecRegistry.shared.encode(try swatch.image(), as: .png).write(to: file)
        return file
    }

    /// The names of the images in the window.
    var names: [String] { session.collection.urls.map(\.lastPathComponent) }

    func open(_ name: String = "", viewsImage: Bool = true) {
        window.open([folder.path + (name.isEmpty ? "" : "/" + name)], viewsImage: viewsImage)
        pump("the images") { !window.photos.isReading && window.isSettled }
    }

    /// - Parameter choice: for an action with several.
    func run(_ action: String, _ choice: String? = nil) {
        gtk_widget_activate_action_variant(
            window.widget.widget, "win.\(action)", choice.map { g_variant_new_string($0) })
    }
}
