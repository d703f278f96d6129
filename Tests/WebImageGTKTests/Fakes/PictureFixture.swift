import CWebImageGTK
import FoundationEssentials
import XCTest

@testable import WebImageGTK

/// A manager whose loader the test answers for, with a memory cache only.
struct PictureFixture {
    let loader = ManualLoader()
    let cache = ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil)
    let manager: WebImageManager

    /// - Parameters:
    ///   - decodesPNG: whether files are real ones, of any format; by default they are swatches.
    ///   - configure: changes what the manager is made with.
    init(decodesPNG: Bool = false, configure: (inout WebImageManager.Configuration) -> Void = { _ in }) {
        var configuration = WebImageManager.Configuration(
            cache: cache, loaders: [loader],
            codecs: decodesPNG ? .shared : CodecRegistry(decoders: [SwatchDecoder()], encoders: []))
        configure(&configuration)
        manager = WebImageManager(configuration: configuration)
    }

    func url(_ name: String) throws -> URL {
        guard let url = URL(string: "manual://host/\(name)") else { throw WebImageError.invalidURL(name) }
        return url
    }

    /// Puts `swatch` into memory as the picture of `url`.
    func remember(_ swatch: Swatch, at url: URL) throws {
        let image = try swatch.image()
        cache.memory.set(image, for: WebImageRequest(url).cacheKey, cost: image.memoryCost)
    }
}

/// A window with one box, closed at the end.
@MainActor final class TestWindow {
    let window: UnsafeMutablePointer<GtkWidget>
    let box: UnsafeMutablePointer<GtkWidget>
    private var isClosed = false

    init() {
        window = gtk_window_new()
        box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)
        gtk_window_set_default_size(asWindow, 120, 120)
        gtk_window_set_child(asWindow, box)
    }

    var asWindow: UnsafeMutablePointer<GtkWindow> {
        UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self)
    }

    func add(_ widget: UnsafeMutablePointer<GtkWidget>) { gtk_box_append(asBox(box), widget) }

    func present() { gtk_window_present(asWindow) }

    /// Adds `picture` and waits until it is on screen.
    func show(_ picture: WebPicture) {
        add(picture.widget)
        present()
        pump("the map") { picture.imageSlot.isOnScreen }
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        gtk_window_destroy(asWindow)
    }
}

func asBox(_ widget: UnsafeMutablePointer<GtkWidget>) -> UnsafeMutablePointer<GtkBox> {
    UnsafeMutableRawPointer(widget).assumingMemoryBound(to: GtkBox.self)
}

/// What reached a completion handler.
@MainActor final class Outcomes {
    private(set) var results: [Result<WebImageResponse, WebImageError>] = []

    func append(_ result: Result<WebImageResponse, WebImageError>) { results.append(result) }

    var successCount: Int { results.filter { if case .success = $0 { true } else { false } }.count }
    var errors: [WebImageError] {
        results.compactMap { if case .failure(let error) = $0 { error } else { nil } }
    }
}

/// The pixel in the middle of what the picture's widget draws.
@MainActor func drawnPixel(of picture: WebPicture) -> SIMD4<UInt8> {
    Rendering(of: gtk_picture_get_paintable(picture.picture), width: 9, height: 9)[4, 4]
}

/// Ends the life of a widget that no container has taken.
@MainActor func destroyUnparented(_ picture: WebPicture) {
    withExtendedLifetime(ObjectReference(retaining: ObjectPointer(picture.widget))) {}
}

/// Waits for another thread without running the main loop; 10 s are a safety net.
@MainActor func waitOffMain(
    _ what: String, file: StaticString = #filePath, line: UInt = #line, until condition: () -> Bool
) {
    let deadline = g_get_monotonic_time() + 10_000_000
    var holds = condition()
    while !holds, g_get_monotonic_time() < deadline {
        g_usleep(1000)
        holds = condition()
    }
    XCTAssertTrue(holds, "never happened: \(what)", file: file, line: line)
}
