import CWebImageGTK
import FoundationEssentials
import GTKObjects
@testable import WebImage
import XCTest

@testable import WebImageGTK

/// A test that shows widgets; skipped where there is no display. `xvfb-run -a env GSK_RENDERER=cairo swift test` has
/// one.
class GTKTestCase: XCTestCase {
    /// How slots load. By default their widgets need not be on screen.
    var loading: ImageLoading { .eager }

    override func setUpWithError() throws {
        _ = (TestHome.former, TestHome.directory)
        // Its result counts the first time only: later it says that GTK is initialised, display or not.
        _ = gtk_init_check()
        try XCTSkipIf(gdk_display_get_default() == nil, "no display: run under xvfb-run")
        LibraryLog.failTestsOnAssertions()
        let loading = loading
        MainActor.assumeIsolated { ImageSlot.standardLoading = loading }
    }
}

/// Runs the main loop until `condition` holds; fails after `seconds`, which are a safety net.
///
/// What happens on other threads, such as a request that reaches a loader, does not wake the main loop; a timer does.
@MainActor func pump(
    _ what: String, seconds: Int = 10, file: StaticString = #filePath, line: UInt = #line,
    until condition: @MainActor () -> Bool
) {
    MainLoop.install()
    let deadline = g_get_monotonic_time() + gint64(seconds) * 1_000_000
    let timer = g_timeout_add_full(G_PRIORITY_HIGH, 20, { _ in gboolean(1) }, nil, nil)
    defer { g_source_remove(timer) }
    var holds = condition()
    while !holds, g_get_monotonic_time() < deadline {
        g_main_context_iteration(nil, gboolean(1))
        holds = condition()
    }
    XCTAssertTrue(holds, "never happened: \(what)", file: file, line: line)
}

/// Runs the main loop until it has nothing left to do but wait.
@MainActor func pumpUntilIdle() {
    var isIdle = false
    let call = MainLoopCall.whenIdle { isIdle = true }
    pump("idle") { isIdle }
    withExtendedLifetime(call) {}
    while g_main_context_iteration(nil, gboolean(0)) != 0 {}
}

/// Cancels all loads of a manager, and waits until its cache has written what it stores: its directory is about to be removed.
@MainActor func end(_ manager: WebImageManager) {
    manager.cancelAll()
    pump("the end of all loads") { manager.runningOperations.isEmpty }
    var isWritten = false
    Task {
        await (manager.configuration.cache as? ImageCache)?.flush()
        isWritten = true
    }
    pump("the cache") { isWritten }
}

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

    /// Puts `swatch` into memory as the image of `url`.
    func remember(_ swatch: Swatch, at url: URL) throws {
        let image = try swatch.image()
        cache.memory.set(image, for: WebImageRequest(url).cacheKey, cost: image.memoryCost)
    }

    /// Puts `swatch` into memory, and returns its URL.
    func remembered(_ swatch: Swatch, as name: String) throws -> URL {
        let url = try url(name)
        try remember(swatch, at: url)
        return url
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

/// The results that reached a completion handler.
@MainActor final class Outcomes {
    private(set) var results: [Result<WebImageResponse, WebImageError>] = []

    func append(_ result: Result<WebImageResponse, WebImageError>) { results.append(result) }

    var successCount: Int { results.filter { if case .success = $0 { true } else { false } }.count }
    var errors: [WebImageError] {
        results.compactMap { if case .failure(let error) = $0 { error } else { nil } }
    }
}

/// The pixel in the middle of what the image's widget draws.
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

/// A loader that answers when the test says so, in the order it likes.
final class ManualLoader: ImageLoader {
    private let started = LockBox<[ManualLoad]>([])
    private let isCacheable: Bool

    init(isCacheable: Bool = false) { self.isCacheable = isCacheable }

    func canLoad(_ url: URL) -> Bool { url.scheme == "manual" }

    func isCacheable(_ url: URL) -> Bool { isCacheable }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let load = ManualLoad(request, priority: priority, handler: handler)
        started.withLock { $0.append(load) }
        return load
    }

    /// Every load so far, in the order they began.
    var loads: [ManualLoad] { started.withLock { $0 } }

    func lastLoad(of url: URL) -> ManualLoad? { loads.last { $0.url == url } }
}

final class ManualLoad: LoaderTask {
    let request: LoaderRequest
    private let handler: @Sendable (LoaderEvent) -> Void
    private let state: LockBox<(isEnded: Bool, isCancelled: Bool, priority: LoadPriority)>

    init(_ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void) {
        self.request = request
        self.handler = handler
        state = LockBox((isEnded: false, isCancelled: false, priority: priority))
    }

    var url: URL { request.url }
    var isEnded: Bool { state.withLock { $0.isEnded } }
    var isCancelled: Bool { state.withLock { $0.isCancelled } }
    var priority: LoadPriority { state.withLock { $0.priority } }

    func begin(expectedByteCount: Int64? = nil, statusCode: Int? = nil, headers: [String: String] = [:]) {
        let fields = headers.map { HTTPHeader(name: $0, value: $1) }
        handler(
            .response(
                LoaderResponse(
                    url: url, statusCode: statusCode, headers: fields, expectedByteCount: expectedByteCount)))
    }

    func send(_ data: Data) { handler(.bytes(data)) }

    func end(_ result: Result<Void, WebImageError> = .success(())) {
        let isFirst = state.withLock { state in
            defer { state.isEnded = true }
            return !state.isEnded
        }
        if isFirst { handler(.finished(result)) }
    }

    func answer(_ swatch: Swatch, headers: [String: String]? = nil) {
        guard !isCancelled else { return }
        begin(
            expectedByteCount: Int64(swatch.data.count), statusCode: headers == nil ? nil : 200, headers: headers ?? [:]
        )
        send(swatch.data)
        end()
    }

    /// Answers with 304: the bytes of the conditional request are still current.
    func confirm(headers: [String: String]) {
        begin(statusCode: 304, headers: headers)
        end()
    }

    func cancel() {
        state.withLock { $0.isCancelled = true }
        end(.failure(.cancelled))
    }

    func setPriority(_ priority: LoadPriority) { state.withLock { $0.priority = priority } }
}

/// An image of one colour and its file: five bytes, `S`, red, green, blue and the width in pixels; half as high as
/// wide.
struct Swatch: Hashable {
    var red: UInt8
    var green: UInt8
    var blue: UInt8
    var width = 4

    static let red = Swatch(red: 255, green: 0, blue: 0)
    static let green = Swatch(red: 0, green: 255, blue: 0)
    static let blue = Swatch(red: 0, green: 0, blue: 255)

    var data: Data { Data([UInt8(ascii: "S"), red, green, blue, UInt8(width)]) }

    var pixel: SIMD4<UInt8> { SIMD4(red, green, blue, 255) }

    func image() throws(WebImageError) -> Image {
        var pixels = try MutablePixelBuffer(width: width, height: max(1, width / 2))
        pixels.withUnsafeMutableBytes { bytes in
            for offset in stride(from: 0, to: bytes.count, by: 4) {
                bytes.storeBytes(of: pixel, toByteOffset: offset, as: SIMD4<UInt8>.self)
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: true))
    }
}

struct SwatchDecoder: ImageDecoder {
    let format = ImageFormat(name: "swatch", mimeType: "image/x-swatch", fileExtension: "swatch")

    func canDecode(_ data: Data) -> Bool { data.first == UInt8(ascii: "S") }

    func info(of data: Data) throws(WebImageError) -> ImageInfo {
        ImageInfo(format: format, size: PixelSize(width: Int(data.last ?? 0), height: 1))
    }

    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        let bytes = Array(data)
        guard bytes.count == 5 else { throw .decoding(format: format, reason: .truncated) }
        return try Swatch(red: bytes[1], green: bytes[2], blue: bytes[3], width: Int(bytes[4])).image()
    }
}
