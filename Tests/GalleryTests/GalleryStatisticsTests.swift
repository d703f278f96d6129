import CWebImageAdwaita
import CWebImageGTK
import Foundation
import WebImageTestSupport
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

final class LoadStatisticsTests: XCTestCase {
    private let date = Date(timeIntervalSince1970: 1_800_000_000)

    private func sample(
        _ source: LoadSource, isOnServer: Bool = true, at seconds: Double = 0, format: String? = nil,
        decode: Double = 0,
        bytes: Int64 = 0
    ) -> LoadSample {
        LoadSample(
            source: source, isOnServer: isOnServer, date: date + seconds, format: format, decodeDuration: decode,
            wireByteCount: bytes)
    }

    func testCountsHitsOfWhatCameFromTheWeb() throws {
        let statistics = LoadStatistics(
            [.memory, .memory, .disk, .network, .failed].map { sample($0) } + [sample(.file, isOnServer: false)])
        XCTAssertEqual(statistics.loadCount, 6)
        XCTAssertEqual(statistics.counts, [.memory: 2, .disk: 1, .network: 1, .file: 1, .failed: 1])
        XCTAssertEqual(try XCTUnwrap(statistics.hitRate), 0.75)
        XCTAssertNil(LoadStatistics([sample(.file, isOnServer: false), sample(.failed)]).hitRate)
        // Memory answers for files, too, and has saved no request.
        XCTAssertNil(LoadStatistics([sample(.memory, isOnServer: false)]).hitRate)
        XCTAssertNil(LoadStatistics([]).hitRate)
    }

    func testDividesTheLatestLoadsIntoSteps() {
        let samples = (0..<1_000).map { sample($0 < 700 ? .network : .memory) }
        let statistics = LoadStatistics(samples)
        XCTAssertEqual(statistics.loadCount, LoadStatistics.loadLimit)
        XCTAssertEqual(statistics.steps.count, LoadStatistics.stepCount)
        XCTAssertEqual(statistics.steps.first, [.network: 15])
        XCTAssertEqual(statistics.steps.last, [.memory: 15])
        XCTAssertEqual(LoadStatistics(Array(samples.prefix(41))).steps.map { $0.values.reduce(0, +) }.reduce(0, +), 41)
    }

    func testMedianAndHighOfEachFormat() {
        let jpeg = (1...100).map { sample(.network, format: "jpeg", decode: Double($0) / 1000) }
        let statistics = LoadStatistics(
            jpeg + [sample(.disk, format: "png", decode: 0.5), sample(.memory, format: "png")])
        XCTAssertEqual(
            statistics.formats,
            [
                LoadStatistics.FormatTime(name: "jpeg", count: 100, median: 0.05, high: 0.095),
                LoadStatistics.FormatTime(name: "png", count: 1, median: 0.5, high: 0.5),
            ])
    }

    func testThroughputEndsWithTheLastTransfer() {
        let statistics = LoadStatistics([
            sample(.network, at: -100, bytes: 1_000_000), sample(.network, at: -3, bytes: 4_000),
            sample(.network, at: 0, bytes: 2_000), sample(.memory, at: 50),
        ])
        XCTAssertEqual(statistics.throughput.count, 30)
        XCTAssertEqual(statistics.throughput.suffix(3), [0, 2_000, 1_000])
        XCTAssertEqual(statistics.throughput.reduce(0, +), 3_000, "a minute ago is out of sight")
        XCTAssertEqual(statistics.wireByteCount, 1_006_000)
        XCTAssertEqual(LoadStatistics([sample(.memory)]).throughput, [])
    }
}

@MainActor private final class StatisticsFixture {
    let folder: URL
    let session: GallerySession
    let page: StatisticsPage
    let window = TestWindow()
    let file: URL

    init() throws {
        adw_init()
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("Statistics-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        file = folder.appendingPathComponent("a.png")
        try CodecRegistry.shared.encode(try Swatch.red.image(), as: .png).write(to: file)
        session = GallerySession(cacheDirectory: folder.appendingPathComponent("cache"))
        page = StatisticsPage(session: session)
        gtk_window_set_default_size(window.asWindow, 360, 480)
        window.add(page.widget.widget)
    }

    func close() {
        window.close()
        end(session.manager)
        TemporaryDirectory.remove(folder.path)
    }

    func show() {
        window.present()
        pump("the map") { gtk_widget_get_mapped(page.widget.widget) != 0 }
    }

    func load() {
        let count = session.loads.records.count
        _ = session.manager.load(WebImageRequest(file))
        pump("the load") { session.loads.records.count > count }
    }

    var shownChild: String {
        gtk_stack_get_visible_child_name(page.widget.opaque).map { String(cString: $0) } ?? ""
    }
}

final class GalleryStatisticsTests: GTKTestCase {
    private func withFixture(_ body: @MainActor (StatisticsFixture) throws -> Void) throws {
        try MainActor.assumeIsolated {
            let fixture = try StatisticsFixture()
            defer { fixture.close() }
            try body(fixture)
        }
    }

    func testIsEmptyBeforeTheFirstLoadAndAfterAReset() throws {
        try withFixture { fixture in
            fixture.show()
            XCTAssertEqual(fixture.shownChild, "empty")
            fixture.load()
            pump("the charts") { fixture.shownChild == "charts" }
            XCTAssertEqual(fixture.page.meter.statistics.counts, [.file: 1])
            fixture.page.meter.reset()
            XCTAssertEqual(fixture.shownChild, "empty")
            XCTAssertEqual(fixture.session.loads.records.count, 1, "the inspector has the loads still")
        }
    }

    func testRestsWhenNothingHappensAndOutOfSight() throws {
        try withFixture { fixture in
            fixture.load()
            XCTAssertFalse(fixture.page.meter.isTicking, "the page was never shown")
            fixture.show()
            pump("the charts") { fixture.page.meter.statistics.loadCount == 1 }
            pump("rest") { !fixture.page.meter.isTicking }
            fixture.load()
            pump("the next load") { fixture.page.meter.statistics.loadCount == 2 }
            gtk_widget_set_visible(fixture.page.widget.widget, 0)
            XCTAssertFalse(fixture.page.meter.isTicking)
            fixture.load()
            pumpUntilIdle()
            XCTAssertFalse(fixture.page.meter.isTicking)
            XCTAssertEqual(fixture.page.meter.statistics.loadCount, 2, "nothing is computed out of sight")
        }
    }

    func testCountsImagesThatViewsGetFromMemoryAtOnce() throws {
        try withFixture { fixture in
            let url = try XCTUnwrap(URL(string: "https://host.invalid/a.png"))
            fixture.session.manager.store(try Swatch.red.image(), for: WebImageRequest(url))
            let picture = WebPicture()
            picture.setImage(url, manager: fixture.session.manager)
            XCTAssertNotNil(picture.image)
            XCTAssertEqual(fixture.session.loads.samples.map(\.source), [.memory])
            XCTAssertEqual(LoadStatistics(fixture.session.loads.samples).hitRate, 1)
            fixture.load()
            let samples = fixture.session.loads.samples
            XCTAssertEqual(samples.map(\.isOnServer), [true, false])
            XCTAssertGreaterThan(samples[1].decodeDuration, 0)
        }
    }

    func testTellsTheBytesOfTheTiers() throws {
        try withFixture { fixture in
            fixture.load()
            fixture.show()
            pump("the sizes") { fixture.page.meter.sizes.memory > 0 }
            XCTAssertEqual(fixture.page.meter.sizes.memoryLimit, fixture.session.settings.values.memoryByteLimit)
        }
    }

    func testFitsANarrowWindow() throws {
        try withFixture { fixture in
            fixture.load()
            fixture.show()
            pump("the charts") { fixture.shownChild == "charts" }
            var least: gint = 0
            gtk_widget_measure(fixture.page.widget.widget, GTK_ORIENTATION_HORIZONTAL, -1, &least, nil, nil, nil)
            XCTAssertLessThanOrEqual(least, 360)
        }
    }
}
