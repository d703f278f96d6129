import CWebImageAdwaita
import CWebImageGTK
import Foundation
import WebImageTestSupport
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// The viewer in a window of its own, with files of one color or with a pattern.
@MainActor final class ViewerFixture {
    let folder: URL
    let session: GallerySession
    let viewer: PhotoViewer
    let window = TestWindow()
    let loader = ManualLoader()
    private(set) var toasts: [String] = []
    private var answered = 0

    /// - Parameters:
    ///   - isManual: whether the test answers all requests through ``loader``.
    ///   - hasLayout: whether the viewer has its size already.
    ///   - configure: changes the manager's configuration.
    init(
        isManual: Bool, hasLayout: Bool, configure: (inout WebImageManager.Configuration) -> Void
    ) throws {
        adw_init()
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("Viewer-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let loader = loader
        session = GallerySession(cacheDirectory: folder.appendingPathComponent("cache")) {
            if isManual { $0.loaders = [loader] }
            configure(&$0)
        }
        viewer = PhotoViewer(session: session)
        session.onToast = { [weak self] message, _ in self?.toasts.append(message) }
        gtk_window_set_default_size(window.asWindow, 600, 500)
        viewer.widget.expanding()
        window.add(viewer.widget.widget)
        window.present()
        viewer.onClose = { [weak self] in self?.viewer.close() }
        if hasLayout { pump("the first layout") { viewer.canvas.width > 100 } }
    }

    /// Calls `body` with a fixture, and closes it.
    nonisolated static func with(
        isManual: Bool = false, hasLayout: Bool = true,
        configure: @MainActor (inout WebImageManager.Configuration) -> Void = { _ in },
        _ body: @MainActor (ViewerFixture) throws -> Void
    ) throws {
        try MainActor.assumeIsolated {
            let fixture = try ViewerFixture(isManual: isManual, hasLayout: hasLayout, configure: configure)
            defer { fixture.close() }
            try body(fixture)
        }
    }

    func close() {
        viewer.close()
        window.close()
        end(session.manager)
        TemporaryDirectory.remove(folder.path)
    }

    func write(_ image: Image, _ name: String, as format: ImageFormat = .png) throws -> URL {
        try write(try CodecRegistry.shared.encode(image, as: format), name)
    }

    func write(_ data: Data, _ name: String) throws -> URL {
        let file = folder.appendingPathComponent(name)
        try data.write(to: file)
        return file
    }

    /// Writes an animation with frames of the colors `shade(0)`, `shade(5)` and so on.
    func writeClip(frameCount: Int) throws -> URL {
        var animation = EncodableAnimation()
        for number in 0..<frameCount {
            animation.append(try picture(24, 16) { _, _ in shade(number * 5) }, duration: .milliseconds(50))
        }
        let file = folder.appendingPathComponent("clip.png")
        try CodecRegistry.shared.encode(animation, as: .png).write(to: file)
        return file
    }

    func open(_ urls: [URL], at index: Int = 0) {
        session.collection.replace(with: urls)
        viewer.open(index: index)
    }

    func settle() { pump("the image") { viewer.isSettled } }

    /// The pixel in the middle of the canvas.
    var middle: SIMD4<UInt8> { pixel(0.5, 0.5) }

    /// A pixel at fractions of the canvas.
    func pixel(_ x: Double, _ y: Double) -> SIMD4<UInt8> {
        let drawn = Rendering(of: viewer.canvas.widget)
        return drawn[Int(x * Double(viewer.canvas.width)), Int(y * Double(viewer.canvas.height))]
    }

    /// Answers the next request for a URL.
    func answer(_ url: URL, with file: Data) {
        let count = answered
        pump("the request") { loader.loads.count > count }
        answerLast(url, with: file)
    }

    /// Answers the last request for a URL.
    func answerLast(_ url: URL, with file: Data) {
        answered = loader.loads.count
        guard let load = loader.lastLoad(of: url) else { return }
        load.begin(expectedByteCount: Int64(file.count))
        load.send(file)
        load.end()
    }

    /// Saves an image, and waits for the message.
    func save(_ url: URL, _ export: PhotoExport, to file: URL) {
        let count = toasts.count
        viewer.save(url, as: export, to: file)
        pump("the file") { toasts.count > count }
    }

    /// The names of the files in the folder, without the cache.
    func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0 != "cache" }.sorted()
    }

    func run(_ name: String) { viewer.actions.first { $0.name == "viewer-\(name)" }?.run() }
}

/// A color for each number from 0 to 50.
func shade(_ number: Int) -> SIMD4<UInt8> { SIMD4(UInt8(number * 5), UInt8(255 - number * 4), 77, 255) }
