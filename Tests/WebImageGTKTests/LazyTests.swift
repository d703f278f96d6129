import CWebImageGTK
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK

/// Images load while their views are near the visible area.
final class LazyLoadingTests: GTKTestCase {
    override var loading: ImageLoading { .lazy }

    func testPicturesOfABoxLoadNearTheVisibleArea() throws {
        try MainActor.assumeIsolated {
            let page = try ScrolledPictures(count: 200)
            defer { page.window.close() }
            page.present()
            // The window shows 3 of 40 points, and the page below it has as many.
            pump("the visible loads") { page.requested.count >= 6 }
            page.settle()
            XCTAssertEqual(page.requested, Set(0...6))
            for load in page.fixture.loader.loads { load.answer(.red) }
            pump("the images") { page.pictures[6].image != nil }

            page.scroll(to: 40 * 100)
            pump("the loads there") { page.requested.contains(100) }
            page.settle()
            XCTAssertEqual(page.requested, Set(0...6).union(96...106))

            for position in stride(from: 0, to: 200, by: 3) {
                for load in page.fixture.loader.loads where !load.isEnded { load.answer(.red) }
                pump("the images") { page.fixture.manager.runningOperations.isEmpty }
                page.scroll(to: 40 * Double(position))
                page.settle(rests: false)
            }
            pump("all loads") { page.requested == Set(0..<200) }
            XCTAssertEqual(page.fixture.loader.loads.count, 200, "each once")
        }
    }

    func testEagerPicturesLoadAtOnce() throws {
        try MainActor.assumeIsolated {
            let page = try ScrolledPictures(count: 200, loading: .eager)
            defer { page.window.close() }
            page.present()
            pump("all loads") { page.requested.count == 200 }
        }
    }

    func testAHiddenPageOfAStackLoadsOnceItIsShown() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), TestWindow())
            defer { window.close() }
            let (first, second) = (WebPicture(), WebPicture())
            let stack = ObjectPointer(gtk_stack_new())
            for picture in [first, second] { gtk_stack_add_child(stack.opaque, picture.widget) }
            window.add(stack.widget)
            let urls = (try fixture.url("first"), try fixture.url("second"))
            first.setImage(urls.0, manager: fixture.manager)
            second.setImage(urls.1, manager: fixture.manager)
            XCTAssertTrue(fixture.loader.loads.isEmpty)
            XCTAssertEqual(first.loadState, .idle)
            window.present()
            pump("the first load") { fixture.loader.lastLoad(of: urls.0) != nil }
            pumpUntilIdle()
            XCTAssertNil(fixture.loader.lastLoad(of: urls.1))
            gtk_stack_set_visible_child(stack.opaque, second.widget)
            pump("the second load") { fixture.loader.lastLoad(of: urls.1) != nil }
            XCTAssertEqual(fixture.loader.lastLoad(of: urls.1)?.priority, .high)
        }
    }

    func testAPictureInNoWindowWaits() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let (url, memory) = (try fixture.url("red"), try fixture.remembered(.blue, as: "blue"))
            let outcomes = Outcomes()
            picture.setImage(url, placeholder: .color(.white), manager: fixture.manager) { outcomes.append($0) }
            pumpUntilIdle()
            XCTAssertTrue(fixture.loader.loads.isEmpty)
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(255, 255, 255, 255))
            picture.loading = .eager
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.priority, .low)
            picture.loading = .lazy
            picture.setImage(memory, manager: fixture.manager)
            XCTAssertEqual(picture.loadState, .loaded(.memoryCacheFast))
            pump("the cancel") { outcomes.errors == [.cancelled] }
            destroyUnparented(picture)
        }
    }

    func testALoadEndsWhenItsPictureIsScrolledFarAway() throws {
        try MainActor.assumeIsolated {
            let page = try ScrolledPictures(count: 200)
            defer { page.window.close() }
            page.present()
            pump("the visible loads") { page.requested.contains(6) }
            page.settle()
            page.scroll(to: 40 * 100)
            pump("the cancels") { page.load(0)?.isCancelled == true && page.load(6)?.isCancelled == true }
            pump("the loads there") { page.requested.contains(100) }
            page.scroll(to: 0)
            pump("the same loads") { page.load(0)?.isCancelled == false }
            XCTAssertEqual(page.pictures[0].loadState, .loading(received: 0, expected: nil))
        }
    }

    func testAPictureThatMovesNearLoads() throws {
        try MainActor.assumeIsolated {
            let page = try ScrolledPictures(count: 100)
            defer { page.window.close() }
            page.present()
            pump("the visible loads") { page.requested.contains(6) }
            page.settle()
            gtk_box_reorder_child_after(asBox(page.column), page.pictures[90].widget, nil)
            pump("the load") { page.requested.contains(90) }
        }
    }

    func testAnotherURLOfAPictureOutOfSightWaits() throws {
        try MainActor.assumeIsolated {
            let page = try ScrolledPictures(count: 100)
            defer { page.window.close() }
            page.present()
            pump("the visible loads") { page.requested.contains(6) }
            page.pictures[50].setImage(try page.fixture.url("other"), manager: page.fixture.manager)
            page.pictures[2].setImage(try page.fixture.url("near"), manager: page.fixture.manager)
            XCTAssertNotNil(page.fixture.loader.lastLoad(of: try page.fixture.url("near")))
            page.settle()
            XCTAssertNil(page.fixture.loader.lastLoad(of: try page.fixture.url("other")))
            page.scroll(to: 40 * 48)
            pump("its load") { (try? page.fixture.loader.lastLoad(of: page.fixture.url("other"))) ?? nil != nil }
        }
    }

    func testARowInAColumnWaitsForBothDirections() throws {
        try MainActor.assumeIsolated {
            let fixture = PictureFixture()
            let page = try ScrolledPictures(count: 40, fixture: fixture)
            defer { page.window.close() }
            let row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0)
            let inner = ObjectPointer(gtk_scrolled_window_new())
            gtk_scrolled_window_set_child(inner.opaque, row)
            gtk_widget_set_size_request(inner.widget, 120, 40)
            gtk_box_append(asBox(page.column), inner.widget)
            let (near, far) = (WebPicture(), WebPicture())
            for picture in [near, far] {
                gtk_widget_set_size_request(picture.widget, 1000, 40)
                gtk_box_append(row.map(asBox), picture.widget)
            }
            near.setImage(try fixture.url("near"), manager: fixture.manager)
            far.setImage(try fixture.url("far"), manager: fixture.manager)
            page.present()
            pump("the visible loads") { page.requested.contains(6) }
            page.settle()
            XCTAssertNil(fixture.loader.lastLoad(of: try fixture.url("near")))
            page.scroll(to: 40 * 40)
            pump("the load in the row") { (try? fixture.loader.lastLoad(of: fixture.url("near"))) ?? nil != nil }
            page.settle()
            XCTAssertNil(fixture.loader.lastLoad(of: try fixture.url("far")))
            let adjustment = gtk_scrolled_window_get_hadjustment(inner.opaque)
            gtk_adjustment_set_value(adjustment, 900)
            pump("the load beside it") { (try? fixture.loader.lastLoad(of: fixture.url("far"))) ?? nil != nil }
        }
    }

    /// A load in two scrolled windows is looked at once by each, however often they have looked before.
    func testALoadInARowIsMeasuredOnceForEachStepOfScrolling() throws {
        try MainActor.assumeIsolated {
            let fixture = PictureFixture()
            let page = try ScrolledPictures(count: 40, fixture: fixture)
            defer { page.window.close() }
            let inner = ObjectPointer(gtk_scrolled_window_new())
            gtk_widget_set_size_request(inner.widget, 120, 40)
            gtk_box_prepend(asBox(page.column), inner.widget)
            let picture = WebPicture()
            gtk_widget_set_size_request(picture.widget, 1_000, 40)
            gtk_scrolled_window_set_child(inner.opaque, picture.widget)
            picture.setImage(try fixture.url("near"), manager: fixture.manager)
            page.present()
            pump("the load") { (try? fixture.loader.lastLoad(of: fixture.url("near"))) ?? nil != nil }
            page.settle()
            let watch = ScrollWatch.of(inner)
            let before = watch.measuredCount
            for step in 1...16 {
                page.scroll(to: Double(step))
                gtk_adjustment_set_value(gtk_scrolled_window_get_hadjustment(inner.opaque), Double(step))
                page.settle(rests: false)
            }
            XCTAssertLessThan(watch.measuredCount - before, 200)
        }
    }

    /// A step of scrolling looks at the pictures that come near, and not at all others.
    func testTenThousandPicturesScrollWithoutDelay() throws {
        try MainActor.assumeIsolated {
            let page = try ScrolledPictures(count: 10_000)
            defer { page.window.close() }
            page.present()
            pump("the visible loads") { page.requested.contains(6) }
            page.settle()
            let watch = try XCTUnwrap(ScrollWatch.around(page.pictures[0].widget))
            let before = watch.measuredCount
            for position in 1...20 {
                page.scroll(to: 40 * Double(position))
                page.settle(rests: false)
            }
            XCTAssertLessThan(watch.measuredCount - before, 1000)
        }
    }
}

/// Pictures of 40 points in a column, of which a window of 120 shows three.
@MainActor private final class ScrolledPictures {
    let fixture: PictureFixture
    let window = TestWindow()
    let column: UnsafeMutablePointer<GtkWidget>
    let scrolled = ObjectPointer(gtk_scrolled_window_new())
    private(set) var pictures: [WebPicture] = []

    init(count: Int, loading: ImageLoading? = nil, fixture: PictureFixture = PictureFixture()) throws {
        self.fixture = fixture
        column = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)
        gtk_scrolled_window_set_child(scrolled.opaque, column)
        gtk_widget_set_size_request(scrolled.widget, 120, 120)
        gtk_widget_set_vexpand(scrolled.widget, gboolean(0))
        gtk_widget_set_valign(scrolled.widget, GTK_ALIGN_START)
        window.add(scrolled.widget)
        for number in 0..<count {
            let picture = WebPicture()
            if let loading { picture.loading = loading }
            gtk_widget_set_size_request(picture.widget, 40, 40)
            picture.setImage(try fixture.url("\(number)"), manager: fixture.manager)
            gtk_box_append(asBox(column), picture.widget)
            pictures.append(picture)
        }
    }

    /// The numbers of the pictures whose loads have begun.
    var requested: Set<Int> { Set(fixture.loader.loads.compactMap { Int($0.url.lastPathComponent) }) }

    func load(_ number: Int) -> ManualLoad? { (try? fixture.url("\(number)")).flatMap(fixture.loader.lastLoad) }

    func present() { window.present() }

    private var adjustment: UnsafeMutablePointer<GtkAdjustment>? {
        gtk_scrolled_window_get_vadjustment(scrolled.opaque)
    }

    func scroll(to value: Double) {
        pump("the layout") { gtk_adjustment_get_upper(adjustment) > value }
        gtk_adjustment_set_value(adjustment, value)
    }

    /// Waits for the next frame, and until scrolling has ended.
    func settle(rests: Bool = true) {
        var frameCount = 0
        let ticker = FrameTicker(host: ViewHost.of(column)) { _ in
            frameCount += 1
            return frameCount < 3
        }
        ticker.start()
        pump("the frames") { frameCount >= 3 && (!rests || ScrollWatch.around(column)?.isScrolling != true) }
        ticker.stop()
    }
}
