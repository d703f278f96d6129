import CWebImageGTK
import Dispatch
import FoundationEssentials
import GTKObjects
import Glibc
import WebImage
import WebImageTestSupport
import XCTest

@testable import WebImageCore
@testable import GTKTestSupport
@testable import WebImageGTK

/// What GIO reads, without a display.
final class GIOLoaderTests: XCTestCase {
    /// A resource of GTK.
    private static let resource = "resource:///org/gtk/libgtk/icons/16x16/status/image-missing.png"

    /// The events of a load, and what happens at its first bytes.
    private final class Events: Sendable {
        private let task = Lock<(any LoaderTask)?>(nil)
        private let events = Lock<[LoaderEvent]>([])
        private let end = Lock<Result<Void, WebImageError>?>(nil)

        var result: Result<Void, WebImageError>? { end.withLock { $0 } }
        var responses: [LoaderResponse] {
            events.withLock { $0.compactMap { if case .response(let response) = $0 { response } else { nil } } }
        }
        var byteCount: Int {
            events.withLock { $0.reduce(0) { if case .bytes(let bytes) = $1 { $0 + bytes.count } else { $0 } } }
        }

        /// Loads, and waits for the end.
        func load(
            _ url: URL, with loader: GIOLoader, headers: [String: String] = [:],
            atFirstBytes body: @escaping @Sendable (any LoaderTask) -> Void = { _ in }
        ) throws {
            // The handler may be called before the task is known.
            let start = DispatchSemaphore(value: 0)
            let finish = DispatchSemaphore(value: 0)
            let loading = loader.load(LoaderRequest(url: url, headers: headers), priority: .normal) { [self] event in
                start.wait()
                start.signal()
                let isFirst = if case .bytes = event { byteCount == 0 } else { false }
                events.withLock { $0.append(event) }
                if isFirst, let task = task.withLock({ $0 }) { body(task) }
                guard case .finished(let result) = event else { return }
                end.withLock { $0 = result }
                finish.signal()
            }
            task.withLock { $0 = loading }
            start.signal()
            XCTAssertEqual(finish.wait(timeout: .now() + 20), .success)
        }

        func assertSucceeded(line: UInt = #line) {
            guard case .success? = result else { return XCTFail("\(String(describing: result))", line: line) }
        }

        func assertFailed(with error: WebImageError, line: UInt = #line) {
            guard case .failure(let actual)? = result, actual == error else {
                return XCTFail("\(String(describing: result))", line: line)
            }
        }
    }

    override func setUp() { _ = gtk_init_check() }

    private func url(_ text: String) throws -> URL { try XCTUnwrap(URL(string: text)) }

    private func file(byteCount: Int, in directory: TemporaryDirectory) throws -> URL {
        let url = URL(filePath: "\(directory.path)/file")
        try Data(repeating: 7, count: byteCount).write(to: url)
        return url
    }

    func testReadsResources() throws {
        let events = Events()
        try events.load(url(Self.resource), with: GIOLoader())
        XCTAssertEqual(events.byteCount, 565)
        XCTAssertEqual(events.responses.map(\.expectedByteCount), [565])
        XCTAssertEqual(events.responses.first?.headerValue("Content-Type"), "image/png")
        events.assertSucceeded()
    }

    func testLoadsTheSchemesThatAreAllowed() throws {
        let (resources, more) = (GIOLoader(), GIOLoader(schemes: ["resource", "SFTP"]))
        for (text, isAllowed) in [
            ("resource:///a", true), ("RESOURCE:///a", true), ("sftp://host/a", false), ("file:///a", false),
        ] {
            XCTAssertEqual(resources.canLoad(try url(text)), isAllowed, text)
        }
        XCTAssertTrue(more.canLoad(try url("sftp://host/a")))
        XCTAssertTrue(more.isCacheable(try url("sftp://host/a")))
        XCTAssertFalse(more.isCacheable(try url("resource:///a")))
        // No manager has it by itself.
        XCTAssertNil(ImageLoaderGroup.shared.loader(for: try url("resource:///a")))
        XCTAssertNil(ImageLoaderGroup.shared.loader(for: try url("sftp://host/a")))
    }

    func testReadsRegularFilesOnly() throws {
        let directory = try TemporaryDirectory()
        let loader = GIOLoader(schemes: ["file", "resource"])
        let pipe = URL(filePath: "\(directory.path)/pipe")
        XCTAssertEqual(mkfifo(pipe.path(percentEncoded: false), 0o600), 0)
        let folder = URL(filePath: directory.path)
        for (url, number) in [(pipe, EOPNOTSUPP), (folder, EISDIR), (try url("resource:///missing"), ENOENT)] {
            let events = Events()
            try events.load(url, with: loader)
            events.assertFailed(with: .file(path: url.absoluteString, errno: number))
        }
    }

    func testRefusesFilesThatAreEmptyOrTooLong() throws {
        let directory = try TemporaryDirectory()
        let (empty, long) = (Events(), Events())
        let url = try file(byteCount: 0, in: directory)
        try empty.load(url, with: GIOLoader(schemes: ["file"]))
        empty.assertFailed(with: .invalidResponse(reason: .emptyBody, url: url))
        _ = try file(byteCount: 11, in: directory)
        try long.load(url, with: GIOLoader(schemes: ["file"], maximumByteCount: 10))
        long.assertFailed(with: .invalidResponse(reason: .bodyTooLong(byteCount: 11, limit: 10), url: url))
        XCTAssertEqual(long.byteCount, 0)
    }

    func testAnUnchangedFileIsNotReadAgain() throws {
        let directory = try TemporaryDirectory()
        let (first, second, third) = (Events(), Events(), Events())
        let (url, loader) = (try file(byteCount: 20, in: directory), GIOLoader(schemes: ["file"]))
        try first.load(url, with: loader)
        let tag = try XCTUnwrap(first.responses.first?.headerValue("ETag"))
        try second.load(url, with: loader, headers: ["if-none-match": tag])
        XCTAssertEqual(second.responses.map(\.statusCode), [304])
        XCTAssertEqual(second.byteCount, 0)
        var times = [timespec(tv_sec: 1_000, tv_nsec: 0), timespec(tv_sec: 1_000, tv_nsec: 0)]
        XCTAssertEqual(utimensat(AT_FDCWD, url.path(percentEncoded: false), &times, 0), 0)
        try third.load(url, with: loader, headers: ["if-none-match": tag])
        XCTAssertEqual(third.responses.map(\.statusCode), [200])
        XCTAssertEqual(third.byteCount, 20)
    }

    func testACancelledLoadEndsAtThePiece() throws {
        let directory = try TemporaryDirectory()
        let events = Events()
        try events.load(file(byteCount: 4 << 20, in: directory), with: GIOLoader(schemes: ["file"])) { $0.cancel() }
        events.assertFailed(with: .cancelled)
        XCTAssertLessThan(events.byteCount, 4 << 20)
    }

    func testAPausedLoadContinues() throws {
        let directory = try TemporaryDirectory()
        let events = Events()
        try events.load(file(byteCount: 4 << 20, in: directory), with: GIOLoader(schemes: ["file"])) { task in
            task.pause()
            DispatchQueue.global().async { task.resume() }
        }
        XCTAssertEqual(events.byteCount, 4 << 20)
        events.assertSucceeded()
    }
}

/// Shows an image, and waits for its end.
@MainActor private func show(_ request: WebImageRequest, _ fixture: PictureFixture) -> WebPaintable {
    let paintable = WebPaintable()
    paintable.setImage(request, manager: fixture.manager)
    pump("the end") { if case .loading = paintable.loadState { false } else { true } }
    return paintable
}

/// Requests for what GIO has.
final class GIORequestTests: GTKTestCase {
    func testAFileIsLoadedWithoutALoaderOfTheManager() throws {
        try MainActor.assumeIsolated {
            let fixture = PictureFixture(decodesPNG: true)
            for text in ["resource:///org/gtk/libgtk/icons/16x16/status/image-missing.png", "https://example.org/a"] {
                let file = try XCTUnwrap(g_file_new_for_uri(text))
                defer { g_object_unref(UnsafeMutableRawPointer(file)) }
                let request = try WebImageRequest(file: file)
                // The downloader of the manager loads files of servers.
                XCTAssertEqual(request.loaders == nil, text.hasPrefix("https"))
                if !text.hasPrefix("https") { XCTAssertEqual(show(request, fixture).image?.width, 16) }
            }
        }
    }

    func testBytesAreNotCopiedAndAreReleasedWithTheRequest() throws {
        try MainActor.assumeIsolated {
            let path = "/org/gtk/libgtk/icons/16x16/status/image-missing.png"
            let resource = try XCTUnwrap(g_resources_lookup_data(path, G_RESOURCE_LOOKUP_FLAGS_NONE, nil))
            defer { g_bytes_unref(resource) }
            let isReleased = LockBox(false)
            let bytes = try XCTUnwrap(
                g_bytes_new_with_free_func(
                    g_bytes_get_data(resource, nil), g_bytes_get_size(resource),
                    {
                        if let data = $0 {
                            Unmanaged<LockBox<Bool>>.fromOpaque(data).takeRetainedValue().withLock { $0 = true }
                        }
                    },
                    Unmanaged.passRetained(isReleased).toOpaque()))
            var request: WebImageRequest? = WebImageRequest(bytes: bytes)
            g_bytes_unref(bytes)
            try Self.showAndEnd(try XCTUnwrap(request))
            XCTAssertFalse(isReleased.withLock { $0 })
            request = nil
            pump("the release") { isReleased.withLock { $0 } }
        }
    }

    /// Shows an image with a view and a manager that exist no longer.
    @MainActor private static func showAndEnd(_ request: WebImageRequest) throws {
        let fixture = PictureFixture(decodesPNG: true)
        XCTAssertEqual(show(request, fixture).image?.width, 16)
        end(fixture.manager)
    }

    func testAStreamIsReadByTheFirstLoad() throws {
        try MainActor.assumeIsolated {
            let fixture = PictureFixture()
            let data = Swatch.blue.data
            let stream = try XCTUnwrap(
                data.withUnsafeBytes {
                    g_memory_input_stream_new_from_data(
                        g_memdup2($0.baseAddress, gsize(data.count)), gssize(data.count), g_free)
                })
            let request = WebImageRequest(stream: stream)
            let other = WebImageRequest(stream: stream)
            g_object_unref(stream)
            XCTAssertEqual(show(request, fixture).image?.pixels[0, 0], Swatch.blue.pixel)
            fixture.cache.memory.removeAll()
            XCTAssertEqual(show(request, fixture).image?.pixels[0, 0], Swatch.blue.pixel)
            // Another request for the stream finds nothing left, and has another name.
            XCTAssertNil(show(other, fixture).image)
        }
    }
}
