import CWebImageAdwaita
import CWebImageGTK
import Foundation
import GTKObjects
import WebImageTestSupport
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK
@testable import WebImageCoding
@testable import WebImage
@testable import WebImageLoading

/// The bars, without a load.
final class TraceTimelineTests: XCTestCase {
    private func exchange(_ status: Int, start: Double, total: Double, isReused: Bool = false) throws
        -> LoaderMetrics.Exchange
    {
        var transfer = TransferMetrics()
        if !isReused {
            transfer.nameLookup = Duration.milliseconds(10)
            transfer.connect = .milliseconds(30)
            transfer.secure = .milliseconds(60)
        }
        transfer.firstByte = Duration.seconds(total) / 2
        transfer.total = .seconds(total)
        transfer.isConnectionReused = isReused
        transfer.bodyByteCount = 2048
        let url = try XCTUnwrap(URL(string: "https://host/\(status)"))
        var exchange = LoaderMetrics.Exchange(url: url, statusCode: status, transfer)
        exchange.startDuration = .seconds(start)
        return exchange
    }

    private func timeline(_ exchanges: [LoaderMetrics.Exchange], total: Double) -> TraceTimeline {
        var metrics = LoaderMetrics()
        metrics.exchanges = exchanges
        metrics.totalDuration = .seconds(total)
        let trace = LoadTrace(entries: [
            LoadTrace.Entry(stage: .disk, start: .zero, duration: .milliseconds(1), message: "nothing is stored"),
            LoadTrace.Entry(stage: .policy, start: .milliseconds(1), message: "http: loading: nothing is stored"),
            LoadTrace.Entry(
                stage: .transfer, start: .milliseconds(2), duration: .seconds(total), message: "status 200"),
        ])
        let transfer = LoadTransfer(start: .milliseconds(2), duration: .seconds(total), metrics: metrics)
        return TraceTimeline(trace, transfers: [transfer])
    }

    func testATransferHasItsPhases() throws {
        let timeline = timeline([try exchange(200, start: 0.05, total: 0.4)], total: 0.45)
        XCTAssertEqual(
            timeline.bars.map(\.title),
            ["Disk", "Policy", "Load", "Queue", "DNS", "Connect", "TLS", "First byte", "Body"])
        let expected: [(start: Double, duration: Double)] = [
            (0.002, 0.05), (0.052, 0.01), (0.062, 0.02), (0.082, 0.03), (0.112, 0.14), (0.252, 0.2),
        ]
        for (bar, times) in zip(timeline.bars.dropFirst(3), expected) {
            XCTAssertEqual(bar.start, times.start, accuracy: 1e-6, bar.title)
            XCTAssertEqual(bar.duration, times.duration, accuracy: 1e-6, bar.title)
            XCTAssertEqual(bar.level, 1)
        }
        XCTAssertEqual(timeline.bars[0].fact, "Nothing is stored.")
        XCTAssertEqual(timeline.bars[1].fact, "http: loading: nothing is stored.")
        XCTAssertEqual(timeline.end, 0.452, accuracy: 1e-6)
        XCTAssertFalse(timeline.hasJoined)
    }

    func testEachRedirectIsARequestWithItsPhases() throws {
        let exchanges = [
            try exchange(302, start: 0, total: 0.2), try exchange(200, start: 0.2, total: 0.1, isReused: true),
        ]
        let timeline = timeline(exchanges, total: 0.3)
        XCTAssertEqual(
            timeline.bars.dropFirst(2).map(\.title),
            [
                "Load", "Request 1", "DNS", "Connect", "TLS", "First byte", "Body", "Last request", "First byte",
                "Body",
            ])
        XCTAssertEqual(timeline.bars.dropFirst(2).map(\.level), [0, 1, 2, 2, 2, 2, 2, 1, 2, 2])
        XCTAssertEqual(timeline.bars[3].fact, "Status 302 from https://host/302")
    }

    func testJoinedWorkStartsBeforeZero() {
        let trace = LoadTrace(entries: [
            LoadTrace.Entry(
                stage: .transfer, start: .seconds(-0.2), duration: .milliseconds(500), message: "status 200"),
            LoadTrace.Entry(
                stage: .decode, start: .milliseconds(300), duration: .milliseconds(100), message: "1×1 png"),
        ])
        let timeline = TraceTimeline(trace)
        XCTAssertTrue(timeline.hasJoined)
        XCTAssertEqual([timeline.start, timeline.end], [-0.2, 0.4])
        XCTAssertEqual(timeline.ticks(atMost: 4).map { ($0 * 10).rounded() / 10 }, [-0.2, 0, 0.2, 0.4])
    }

    func testTicksAreRoundAndFew() {
        for (end, count, expected) in [
            (0.0123, 5, [0, 0.005, 0.01]), (0.1, 2, [0, 0.05, 0.1]), (7.0, 4, [0, 2, 4, 6]), (0.0, 3, [0]),
        ] {
            let entry = LoadTrace.Entry(stage: .decode, start: .zero, duration: .seconds(end), message: "")
            let ticks = TraceTimeline(LoadTrace(entries: [entry])).ticks(atMost: count)
            if end == 0 {
                XCTAssertLessThanOrEqual(ticks.count, count + 1)
            } else {
                XCTAssertEqual(ticks.count, expected.count)
                for (tick, value) in zip(ticks, expected) { XCTAssertEqual(tick, value, accuracy: 1e-9) }
            }
        }
    }

    func testAmountsHaveUnits() {
        XCTAssertEqual(Amount.bytes(512), "512 B")
        XCTAssertEqual(Amount.bytes(12_900_000), "12.3 MiB")
        XCTAssertEqual(
            [0, 0.00004, 0.0123, 0.25, 1.25, 240].map(Amount.duration),
            ["0 ms", "40 µs", "12.3 ms", "250 ms", "1.3 s", "4 min"])
        XCTAssertEqual([59, 7_200, 345_600].map(Amount.longDuration), ["59 s", "2 h", "4 days"])
        XCTAssertEqual(Amount.decimal(-0.04), "0")
        XCTAssertEqual(Amount.percent(0.456), "46 %")
    }
}

/// The facts of files from Tests/Fixtures.
final class FileFactsTests: XCTestCase {
    private func groups(_ name: String) throws -> [String: [String: String]] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Fixtures/\(name)")
        let groups = FileFacts.groups(of: try Data(contentsOf: file))
        let facts = groups.map { group in
            (group.title, Dictionary(group.facts.map { ($0.title, $0.value) }) { first, _ in first })
        }
        return Dictionary(uniqueKeysWithValues: facts)
    }

    func testTellsFormatSizeAndProfile() throws {
        let facts = try XCTUnwrap(try groups("color/p3.jpg")["File"])
        XCTAssertEqual(facts["Format"], "JPEG (image/jpeg)")
        XCTAssertEqual(facts["Color profile"], "test (RGB)", "the name in the profile")
        XCTAssertEqual(try groups("color/gray.png")["File"]?["Color profile"]?.hasSuffix("(gray)"), true)
        XCTAssertEqual(try groups("color/press.jpg")["File"]?["Color profile"]?.hasSuffix("(CMYK)"), true)
        XCTAssertEqual(try groups("color/prophoto.webp")["File"]?["Color profile"]?.hasSuffix("(RGB)"), true)
        XCTAssertEqual(try groups("images/photo.jpg")["File"]?["Color profile"], "None; sRGB is assumed")
        XCTAssertEqual(facts["HDR"], "No")
        XCTAssertEqual(facts["Depth"], "8 bits per channel")
    }

    func testTellsTheOrientation() throws {
        XCTAssertEqual(try groups("images/orientation-6.jpg")["File"]?["Orientation"], "Turned right")
        XCTAssertNil(try groups("images/photo.jpg")["File"]?["Orientation"])
    }

    func testTellsFramesAndDuration() throws {
        let animation = try XCTUnwrap(try groups("images/animated.gif")["Animation"])
        XCTAssertNotNil(animation["Frames"].flatMap { Int($0) })
        XCTAssertNotNil(animation["Plays"])
        XCTAssertNotNil(animation["Duration"])
    }

    func testTellsThePhotograph() throws {
        var metadata = ImageMetadata()
        var directory = TIFFDirectory()
        directory.set(0x0110, type: 2, Array("X-T4\0".utf8))
        metadata.exif = Data(directory.structure())
        var options = EncodingOptions()
        options.metadata = metadata
        let data = try CodecRegistry.shared.encode(try Swatch.red.image(), as: .jpeg, options: options)
        let photograph = try XCTUnwrap(FileFacts.groups(of: data).first)
        XCTAssertEqual(photograph.title, "Photograph")
        XCTAssertEqual(photograph.facts, [Fact("Camera", "X-T4"), Fact("Place", "Not in the file")])
    }

    /// A JPEG whose GPS directory has these values, of degrees, minutes and seconds with a denominator.
    static func photograph(
        north: String, _ latitude: [UInt8], east: String, _ longitude: [UInt8], denominator: UInt8 = 1
    ) throws -> Data {
        func fractions(_ parts: [UInt8]) -> [UInt8] { parts.flatMap { [$0, 0, 0, 0, denominator, 0, 0, 0] } }
        /// The tag, the type, the count, and the value or its offset.
        func entry(_ tag: [UInt8], type: UInt8, count: UInt8, _ value: [UInt8]) -> [UInt8] {
            tag + [type, 0, count, 0, 0, 0] + value + [UInt8](repeating: 0, count: 4 - value.count)
        }
        // The header, a directory with one entry, that of GPS with four at 26, and the fractions at 80 and 104.
        let exif: [UInt8] =
            Array("II*\0".utf8) + [8, 0, 0, 0, 1, 0] + entry([0x25, 0x88], type: 4, count: 1, [26]) + [0, 0, 0, 0]
            + [4, 0] + entry([1, 0], type: 2, count: 2, Array(north.utf8)) + entry([2, 0], type: 5, count: 3, [80])
            + entry([3, 0], type: 2, count: 2, Array(east.utf8)) + entry([4, 0], type: 5, count: 3, [104])
            + [0, 0, 0, 0] + fractions(latitude) + fractions(longitude)
        var options = EncodingOptions()
        options.metadata = ImageMetadata(exif: Data(exif))
        return try CodecRegistry.shared.encode(try Swatch.red.image(), as: .jpeg, options: options)
    }

    func testTellsThePlace() throws {
        for (north, east, denominator, place) in [
            ("N", "E", 1, "46.5583° N, 7.9808° E"), ("S", "W", 1, "46.5583° S, 7.9808° W"),
            ("N", "E", 0, "The file has GPS coordinates that cannot be read"),
            ("", "E", 1, "The file has GPS coordinates that cannot be read"),
        ] as [(String, String, UInt8, String)] {
            let data = try Self.photograph(
                north: north, [46, 33, 30], east: east, [7, 58, 51], denominator: denominator)
            let photograph = try XCTUnwrap(FileFacts.groups(of: data).first)
            XCTAssertEqual(photograph.facts.last, Fact("Place", place))
        }
        XCTAssertEqual([0, -7.98079, 179.99999].map(Amount.degrees), ["0.0000°", "7.9808°", "180.0000°"])
    }

    func testAHeaderMayTellAnySize() throws {
        // A file of 14 bytes that says it is 2³² − 1 pixels wide and high.
        let header = Data("qoif".utf8 + [UInt8](repeating: 0xFF, count: 8) + [3, 0])
        let file = try XCTUnwrap(FileFacts.groups(of: header).first { $0.title == "File" })
        let pixels = try XCTUnwrap(file.facts.first { $0.title == "Pixels" })
        XCTAssertTrue(pixels.value.hasPrefix("4294967295 × 4294967295, 18446744065119"), pixels.value)
    }

    func testBytesThatAreNoImageAreAFact() {
        let groups = FileFacts.groups(of: Data("<html>".utf8))
        XCTAssertEqual(groups.map(\.title), ["File"])
        XCTAssertEqual(groups[0].facts.map(\.title), ["Format", "Size"])
    }
}

/// The inspector with a real server.
@MainActor private final class InspectorFixture {
    let folder: URL
    let session: GallerySession
    let inspector: LoadInspector
    let server: NGINXServer
    let window = TestWindow()

    init() throws {
        adw_init()
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("Inspector-\(UUID().uuidString)")
        server = try NGINXServer(
            locations: """
                add_header Cache-Control "max-age=60";
                location /moved/ { rewrite ^/moved/(.*)$ /$1 redirect; }
                location /gone { return 404; }
                """)
        try server.write(try CodecRegistry.shared.encode(try Swatch.red.image(), as: .png), to: "a.png")
        var configuration = ImageDownloader.Configuration()
        configuration.proxy = .none
        let downloader = ImageDownloader(configuration: configuration)
        session = GallerySession(cacheDirectory: folder) { $0.loaders = [downloader, DataURLLoader()] }
        inspector = LoadInspector(session: session)
        gtk_window_set_default_size(window.asWindow, 360, 500)
        inspector.widget.expanding()
        window.add(inspector.widget.widget)
        window.present()
        pump("the map") { gtk_widget_get_mapped(inspector.widget.widget) != 0 }
    }

    func close() {
        window.close()
        end(session.manager)
        TemporaryDirectory.remove(folder.path)
    }

    func load(_ url: URL) {
        let count = session.loads.records.count
        _ = session.manager.load(WebImageRequest(url))
        pump("the load") { session.loads.records.count > count }
    }

    /// Shows a URL, and waits until the disk was read.
    func show(_ url: URL) {
        inspector.show(url)
        pump("the facts") { inspector.inspection?.entry != nil && !(inspector.inspection?.file.isEmpty ?? true) }
    }

    func facts(_ title: String) -> [String: String] {
        let group = inspector.inspection?.groups(now: Date()).first { $0.title == title }
        return Dictionary((group?.facts ?? []).map { ($0.title, $0.value) }) { first, _ in first }
    }
}

final class GalleryInspectorTests: GTKTestCase {
    private func withFixture(_ body: @MainActor (InspectorFixture) throws -> Void) throws {
        try MainActor.assumeIsolated {
            let fixture = try InspectorFixture()
            defer { fixture.close() }
            try body(fixture)
        }
    }

    func testShowsTheTransferTheEntryAndTheFile() throws {
        try withFixture { fixture in
            let url = try fixture.server.url("/moved/a.png")
            fixture.load(url)
            fixture.show(url)
            XCTAssertEqual(fixture.facts("Transfer")["Status"], "200")
            XCTAssertEqual(fixture.facts("Transfer")["HTTP version"], "HTTP/1.1")
            XCTAssertEqual(fixture.facts("Redirects")["Status 302"], url.absoluteString)
            XCTAssertEqual(fixture.facts("Response headers")["Cache-Control"], "max-age=60")
            XCTAssertNotNil(fixture.facts("Request headers")["User-Agent"])
            let entry = fixture.facts("Cache entry")
            XCTAssertTrue(try XCTUnwrap(entry["In memory"]).hasSuffix(" B (pixels)"))
            XCTAssertTrue(try XCTUnwrap(entry["On disk"]).hasSuffix(" B (original file)"))
            XCTAssertTrue(try XCTUnwrap(entry["Validators"]).hasPrefix("ETag"))
            XCTAssertEqual(entry["Redirected to"], try fixture.server.url("/a.png").absoluteString)
            XCTAssertEqual(fixture.facts("File")["Format"], "PNG (image/png)")
            XCTAssertEqual(fixture.facts("Caches")["Memory: miss"] != nil, true)
            let text = try XCTUnwrap(fixture.inspector.inspection).text(now: Date())
            for part in [url.absoluteString, "policy cacheFirst", "transfer: status 200", "  ETag: "] {
                XCTAssertTrue(text.contains(part), "\(part) in \(text)")
            }
        }
    }

    /// The texts on screen in a widget, in order.
    @MainActor private static func texts(_ widget: UnsafeMutablePointer<GtkWidget>) -> [String] {
        guard gtk_widget_get_mapped(widget) != 0 else { return [] }
        let object = ObjectPointer(widget)
        var texts = object.isInstance(of: gtk_label_get_type()) ? [object.text] : []
        var child = gtk_widget_get_first_child(widget)
        while let current = child {
            texts += Self.texts(current)
            child = gtk_widget_get_next_sibling(current)
        }
        return texts
    }

    /// A cell of the grid loads a smaller image.
    func testTheHeadlineHasTheSizeOfTheFile() throws {
        try withFixture { fixture in
            let image = try Image(
                color: Color(red: 1, green: 0, blue: 0), size: PointSize(width: 400, height: 300))
            try fixture.server.write(try CodecRegistry.shared.encode(image, as: .png), to: "large.png")
            let url = try fixture.server.url("/large.png")
            // The second comes from memory, where nothing is known of the file.
            for count in 1...2 {
                _ = fixture.session.manager.load(
                    WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 40, height: 30))))
                pump("the load") { fixture.session.loads.records.count == count }
            }
            XCTAssertEqual(fixture.session.loads.records.last?.isReduced, true)
            fixture.show(url)
            pump("the headline") {
                Self.texts(fixture.inspector.widget.widget).contains { $0.contains("400\u{A0}×\u{A0}300\u{A0}pixels") }
            }
        }
    }

    func testBeginsWithTheNameAndThePhotograph() throws {
        try withFixture { fixture in
            try FileManager.default.createDirectory(at: fixture.folder, withIntermediateDirectories: true)
            let file = fixture.folder.appendingPathComponent("Jungfrau.jpg")
            try FileFactsTests.photograph(north: "N", [46, 33, 30], east: "E", [7, 58, 51]).write(to: file)
            fixture.load(file)
            fixture.show(file)
            var shown: [String] = []
            pump("the photograph") {
                shown = Self.texts(fixture.inspector.widget.widget)
                return shown.contains("46.5583° N, 7.9808° E")
            }
            let places = ["Jungfrau.jpg", "Photograph", "46.5583° N, 7.9808° E", file.path, "File"].map {
                shown.firstIndex(of: $0) ?? -1
            }
            XCTAssertEqual(places, places.sorted(), "\(shown)")
            XCTAssertFalse(places.contains(-1), "\(shown)")
            let text = try XCTUnwrap(fixture.inspector.inspection).text(now: Date())
            XCTAssertTrue(text.hasPrefix("\(file.path)\n\nPhotograph\n  Place: 46.5583° N, 7.9808° E\n"), text)
        }
    }

    func testTheBarsHaveThePhasesOfTheRedirect() throws {
        try withFixture { fixture in
            let url = try fixture.server.url("/moved/a.png")
            fixture.load(url)
            fixture.show(url)
            let titles = try XCTUnwrap(fixture.inspector.inspection?.timeline).bars.map(\.title)
            for title in ["Load", "Request 1", "Connect", "First byte", "Last request", "Decode"] {
                XCTAssertTrue(titles.contains(title), "\(title) in \(titles)")
            }
        }
    }

    func testRevalidatesWithA304() throws {
        try withFixture { fixture in
            let url = try fixture.server.url("/a.png")
            fixture.load(url)
            fixture.show(url)
            var reloaded: [CachePolicy] = []
            fixture.inspector.onReload = { _, policy in
                reloaded.append(policy)
                return false
            }
            fixture.inspector.reload(.refresh)
            pump("the 304") { fixture.inspector.inspection?.record?.policy == .refresh }
            XCTAssertEqual(reloaded, [.refresh])
            XCTAssertEqual(fixture.facts("Transfer")["Status"], "304")
            XCTAssertNotNil(fixture.facts("Request headers")["If-None-Match"])
            XCTAssertNotNil(fixture.facts("Caches")["Validation"])
            XCTAssertEqual(fixture.inspector.resultText, "The server confirmed that the stored response is current.")
        }
    }

    func testAViewThatReloadsIsEnough() throws {
        try withFixture { fixture in
            let url = try fixture.server.url("/a.png")
            fixture.load(url)
            fixture.show(url)
            fixture.inspector.onReload = { url, policy in
                _ = fixture.session.manager.load(WebImageRequest(url, cachePolicy: policy))
                return true
            }
            let count = fixture.session.loads.records.count
            fixture.inspector.reload(.reload)
            pump("the reload") { fixture.inspector.resultText.hasPrefix("Loaded again") }
            XCTAssertEqual(fixture.session.loads.records.count, count + 1)
        }
    }

    func testRemovesFromMemoryAndDisk() throws {
        try withFixture { fixture in
            let url = try fixture.server.url("/a.png")
            fixture.load(url)
            fixture.show(url)
            let key = WebImageRequest(url).cacheKey
            XCTAssertTrue(fixture.session.cache.isInMemory(key))
            fixture.inspector.removeFromCache()
            pump("the removal") { fixture.facts("Cache entry")["On disk"] == "No" }
            XCTAssertEqual(fixture.facts("Cache entry")["In memory"], "No")
            XCTAssertFalse(fixture.session.cache.isInMemory(key))
            XCTAssertNil(fixture.session.cache.blockingTier(holding: key))
            // The next load asks the server.
            fixture.load(url)
            XCTAssertEqual(fixture.session.loads.record(of: url)?.source, .network)
        }
    }

    func testRemovingAnImageSupersedesItsOtherSizes() throws {
        try withFixture { fixture in
            let url = try fixture.server.url("/a.png")
            let small = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 2, height: 1)))
            let count = fixture.session.loads.records.count
            _ = fixture.session.manager.load(small)
            pump("the thumbnail") { fixture.session.loads.records.count > count }
            XCTAssertTrue(fixture.session.cache.isInMemory(small.cacheKey))
            fixture.load(url)
            fixture.show(url)
            fixture.inspector.removeFromCache()
            pump("the removal") { fixture.facts("Cache entry")["On disk"] == "No" }
            XCTAssertFalse(fixture.session.cache.isInMemory(small.cacheKey))
        }
    }

    func testAFailureHasItsSentenceItsCodeAndItsStatus() throws {
        try withFixture { fixture in
            let url = try fixture.server.url("/gone")
            fixture.load(url)
            fixture.show(url)
            let record = try XCTUnwrap(fixture.inspector.inspection?.record)
            let failure = try XCTUnwrap(LoadFacts.failure(record.error, attempts: record.attempts))
            XCTAssertEqual(failure.title, "Failure")
            XCTAssertTrue(failure.facts.contains(Fact("For developers", "WebImageError with code 200")))
            XCTAssertTrue(try XCTUnwrap(failure.facts.first).value.contains("404"))
            XCTAssertEqual(fixture.facts("Transfer")["Status"], "404", "the transfer of a failed load is known")
            XCTAssertEqual(fixture.facts("Cache entry")["On disk"], "No")
        }
    }

    func testFollowsTheNewestLoad() throws {
        try withFixture { fixture in
            let url = try fixture.server.url("/a.png")
            fixture.show(url)
            XCTAssertNil(fixture.inspector.inspection?.record)
            fixture.load(url)
            pump("the record") { fixture.inspector.inspection?.record?.source == .network }
            fixture.load(url)
            pump("the newer record") { fixture.inspector.inspection?.record?.source == .memory }
            XCTAssertEqual(fixture.facts("Transfer")["Status"], "200", "the earlier transfer stays in sight")
        }
    }

    func testTheFactsOfADataURLAreThoseOfItsBytes() throws {
        try withFixture { fixture in
            let bytes = try CodecRegistry.shared.encode(try Swatch.red.image(), as: .png)
            fixture.show(try XCTUnwrap(URL(string: "data:image/png;base64,\(bytes.base64EncodedString())")))
            XCTAssertEqual(fixture.facts("File")["Format"], "PNG (image/png)")
            XCTAssertEqual(fixture.inspector.inspection?.text(now: Date()).contains(bytes.base64EncodedString()), false)
        }
    }

    func testWaitsForTheLastOfSeveralImages() throws {
        try withFixture { fixture in
            let urls = (0..<4).map { URL(filePath: "/nothing/\($0).png") }
            fixture.inspector.show(urls[0])
            XCTAssertEqual(fixture.inspector.inspection?.url, urls[0], "the first one is there at once")
            for url in urls[1...] {
                fixture.inspector.show(url)
                XCTAssertNil(fixture.inspector.inspection, "nothing is built on the way")
            }
            pump("the last image") { fixture.inspector.inspection?.url == urls[3] }
        }
    }

    func testFitsANarrowWindow() throws {
        try withFixture { fixture in
            let url = try fixture.server.url("/moved/a.png?" + String(repeating: "long", count: 60))
            fixture.load(url)
            fixture.show(url)
            var least: gint = 0
            gtk_widget_measure(
                fixture.inspector.widget.widget, GTK_ORIENTATION_HORIZONTAL, -1, &least, nil, nil, nil)
            XCTAssertLessThanOrEqual(least, 300)
            let content = try XCTUnwrap(gtk_widget_get_first_child(fixture.inspector.widget.widget))
            gtk_widget_measure(content, GTK_ORIENTATION_HORIZONTAL, -1, &least, nil, nil, nil)
            XCTAssertLessThanOrEqual(least, 300, "nothing inside needs more than the pane has")
        }
    }

    func testTheLogHoldsTracesAndNoImages() throws {
        try withFixture { fixture in
            let url = try fixture.server.url("/a.png")
            weak var operation: WebImageOperation?
            do {
                let started = fixture.session.manager.load(WebImageRequest(url))
                operation = started
            }
            pump("the load") { fixture.session.loads.records.count == 1 }
            // The operation holds the image.
            pump("the release of the operation") { operation == nil }
            XCTAssertEqual(fixture.session.loads.record(of: url)?.transfers.count, 1)
        }
    }
}
