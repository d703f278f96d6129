import CWebImageGTK
import GTKObjects
import WebImageTestSupport
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK

/// Slots of any widget.
final class ImageSlotTests: GTKTestCase {
    func testPassesImagesToAClosure() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), TestWindow())
            defer { window.close() }
            var shown: [String] = []
            let slot = ImageSlot(on: window.box, key: "icon") { image in
                guard let image else { return shown.append("nothing") }
                shown.append("\(image.pixels[0, 0])")
                let texture = image.makeTexture()
                XCTAssertEqual(gdk_texture_get_width(texture), gint(image.width))
                g_object_unref(UnsafeMutableRawPointer(texture))
            }
            let url = try fixture.url("red")
            slot.setImage(url, placeholder: .color(.white), manager: fixture.manager)
            let white = "\(SIMD4<UInt8>(255, 255, 255, 255))"
            XCTAssertEqual(shown, [white])
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { slot.image != nil }
            slot.imageURL = nil
            XCTAssertEqual(shown, [white, "\(Swatch.red.pixel)", "nothing"])
        }
    }

    func testSlotsOfOneWidgetDoNotDisturbEachOther() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), TestWindow())
            defer { window.close() }
            let (first, second) = (
                ImageSlot(on: window.box, key: "1") { _ in }, ImageSlot(on: window.box, key: "2") { _ in }
            )
            let (one, two) = (try fixture.url("1"), try fixture.url("2"))
            first.setImage(one, manager: fixture.manager)
            second.setImage(two, manager: fixture.manager)
            first.cancelCurrentRequest()
            XCTAssertEqual(fixture.loader.lastLoad(of: one)?.isCancelled, true)
            XCTAssertEqual(fixture.loader.lastLoad(of: two)?.isCancelled, false)
            XCTAssertTrue(ImageSlot.attached(to: window.box, key: "2") === second)
            XCTAssertNil(ImageSlot.attached(to: window.box, key: "3"))
        }
    }

    func testItsClosureIsNotCalledWhileItsWidgetIsDestroyed() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), TestWindow())
            let outcomes = Outcomes()
            var callCount = 0
            let slot = ImageSlot(on: window.box) { _ in callCount += 1 }
            let url = try fixture.url("red")
            slot.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })
            XCTAssertEqual(callCount, 1)
            window.close()
            pump("the cancel") { outcomes.errors == [.cancelled] }
            slot.setImage(url, manager: fixture.manager)
            slot.set(try Swatch.red.image())
            pumpUntilIdle()
            XCTAssertEqual(callCount, 1)
            XCTAssertNil(slot.image)
        }
    }

    func testAnotherSlotUnderTheSameKeyRetiresTheFirst() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), TestWindow())
            defer { window.close() }
            let outcomes = Outcomes()
            let first = ImageSlot(on: window.box) { _ in }
            let url = try fixture.url("1")
            first.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })
            let second = ImageSlot(on: window.box) { _ in }
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.isCancelled, true)
            first.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })
            pump("both ends") { outcomes.errors == [.cancelled, .cancelled] }
            XCTAssertEqual(fixture.loader.loads.count, 1)
            XCTAssertTrue(ImageSlot.attached(to: window.box) === second)
        }
    }

    func testItsStateHasAnyNumberOfReaders() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            var calls: [LoadState] = []
            picture.onLoadStateChange = { calls.append($0) }
            let (first, second, third) = (StateLog(picture), StateLog(picture), StateLog(picture))
            pump("the state as it is") { [first, second, third].allSatisfy { $0.states == [.idle] } }
            third.stop()
            pump("the third one's end") { third.isOver }
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager)
            let start = LoadState.loading(received: 0, expected: nil)
            pump("the start") { first.states.last == start && second.states.last == start }
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { [first, second].allSatisfy { $0.states.last == .loaded(.remote) } }
            XCTAssertEqual(calls.first, start)
            XCTAssertEqual(calls.last, .loaded(.remote))
            XCTAssertEqual(third.states, [.idle])
            window.close()
            pump("the end") { first.isOver && second.isOver }
            XCTAssertTrue(first.states.last == .loaded(.remote))
        }
    }

    func testProgressIsAFractionIfTheLengthIsKnown() {
        XCTAssertEqual(LoadState.loading(received: 3, expected: 4).fraction, 0.75)
        XCTAssertEqual(LoadState.loading(received: 5, expected: 4).fraction, 1)
        XCTAssertNil(LoadState.loading(received: 3, expected: nil).fraction)
        XCTAssertNil(LoadState.loading(received: 0, expected: 0).fraction)
        XCTAssertEqual(LoadState.loaded(.remote).fraction, 1)
        XCTAssertNil(LoadState.idle.fraction)
        XCTAssertNil(LoadState.failed(.cancelled).fraction)
    }
}

/// A reader of a view's state.
@MainActor private final class StateLog {
    private(set) var states: [LoadState] = []
    private(set) var isOver = false
    private var task: Task<Void, Never>?

    init(_ picture: WebPicture) {
        let stream = picture.loadStates()
        task = Task { [weak self] in
            for await state in stream { self?.states.append(state) }
            self?.isOver = true
        }
    }

    func stop() { task?.cancel() }
}

/// Loads and their environment: scrolling, the end of the program.
final class SlotLifeTests: GTKTestCase {
    func testLowPriorityWaitsUntilScrollingRests() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            guard let (window, adjustment) = scrolling(picture) else { return XCTFail("no widgets") }
            defer { window.close() }
            gtk_adjustment_set_value(adjustment, 5)
            XCTAssertEqual(ScrollWatch.around(picture.widget)?.isScrolling, true)
            picture.setImage(try fixture.url("low"), priority: .low, manager: fixture.manager)
            XCTAssertTrue(fixture.loader.loads.isEmpty)
            XCTAssertEqual(picture.loadState, .loading(received: 0, expected: nil))
            pump("the load") { !fixture.loader.loads.isEmpty }
            XCTAssertEqual(ScrollWatch.around(picture.widget)?.isScrolling, false)

            gtk_adjustment_set_value(adjustment, 9)
            picture.setImage(try fixture.url("high"), manager: fixture.manager)
            XCTAssertNotNil(fixture.loader.lastLoad(of: try fixture.url("high")))
            // A request that is cancelled meanwhile does not start.
            picture.setImage(try fixture.url("never"), priority: .low, manager: fixture.manager)
            picture.cancelCurrentRequest()
            pump("rest") { ScrollWatch.around(picture.widget)?.isScrolling == false }
            XCTAssertNil(fixture.loader.lastLoad(of: try fixture.url("never")))
        }
    }

    func testALowPriorityWaitsAndAHighOneDoesNot() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            guard let (window, adjustment) = scrolling(picture) else { return XCTFail("no widgets") }
            defer { window.close() }
            gtk_adjustment_set_value(adjustment, 5)
            let (low, high) = (try fixture.url("low"), try fixture.url("high"))
            picture.setImage(high, priority: .high, manager: fixture.manager)
            XCTAssertEqual(fixture.loader.lastLoad(of: high)?.priority, .high)
            picture.setImage(low, priority: .low, manager: fixture.manager)
            XCTAssertNil(fixture.loader.lastLoad(of: low))
            pump("the load") { fixture.loader.lastLoad(of: low) != nil }
            XCTAssertEqual(ScrollWatch.around(picture.widget)?.isScrolling, false)
            XCTAssertEqual(fixture.loader.lastLoad(of: low)?.priority, .low)
        }
    }

    func testALoadInTheBackgroundOutlivesItsView() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            let url = try fixture.url("red")
            window.show(picture)
            let outcomes = Outcomes()
            picture.setImage(
                url, loadOptions: .continueInBackground, manager: fixture.manager, completion: { outcomes.append($0) })
            window.close()
            pump("the end of the request") { outcomes.errors == [.cancelled] }
            let load = fixture.loader.lastLoad(of: url)
            XCTAssertEqual(load?.isCancelled, false)
            XCTAssertEqual(load?.priority, .low)
            load?.answer(.red)
            pump("the picture in memory") { fixture.manager.cachedImage(for: WebImageRequest(url)) != nil }
            pump("the end") { fixture.manager.runningOperations.isEmpty }
        }
    }

    func testALoadInTheBackgroundHoldsTheApplication() throws {
        try MainActor.assumeIsolated {
            let fixture = PictureFixture()
            let url = try fixture.url("red")
            // Runs as long as it is held: until the load has ended, though there is no window.
            try runApplication { _ in
                let picture = WebPicture()
                picture.setImage(url, loadOptions: .continueInBackground, manager: fixture.manager)
                destroyUnparented(picture)
                let load = fixture.loader.lastLoad(of: url)
                DelayedAnswer.shared.call = MainLoopCall.after(milliseconds: 50) { load?.answer(.red) }
            }
            XCTAssertNotNil(fixture.manager.cachedImage(for: WebImageRequest(url)))
            DelayedAnswer.shared.call = nil
        }
    }

    func testShowsPreviewsUntilTheImageIsLoaded() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let slot = picture.imageSlot
            let (first, second) = (try fixture.url("1"), try fixture.url("2"))
            picture.setImage(first, manager: fixture.manager)
            let staleSentinel = slot.sentinel
            picture.setImage(second, options: .fadeIn, manager: fixture.manager)
            slot.loadDidPreview(staleSentinel, try Swatch.red.image())
            XCTAssertNil(picture.image)
            slot.loadDidPreview(slot.sentinel, try Swatch.green.image())
            XCTAssertEqual(picture.image?.pixels[0, 0], Swatch.green.pixel)
            XCTAssertTrue(picture.imageSlot.isInTransition)
            XCTAssertEqual(picture.loadState, .loading(received: 0, expected: nil))
            fixture.loader.lastLoad(of: second)?.answer(.blue)
            pump("the image") { picture.loadState == .loaded(.remote) }
            pump("the end of the fade") { !picture.imageSlot.isInTransition }
            XCTAssertEqual(drawnPixel(of: picture), Swatch.blue.pixel)
        }
    }

    func testTransitionsKnowTheDirectionOfText() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            gtk_widget_set_direction(picture.widget, GTK_TEXT_DIR_RTL)
            window.show(picture)
            let url = try fixture.remembered(.red, as: "red")
            picture.transition = .slide(from: .leading, duration: .seconds(60))
            picture.setImage(url, options: .forceTransition, manager: fixture.manager)
            picture.imageSlot.painter.setProgress(0.5)
            let drawing = Rendering(of: gtk_picture_get_paintable(picture.picture), width: 20, height: 20)
            XCTAssertEqual(drawing[15, 10], Swatch.red.pixel)
            XCTAssertEqual(drawing[5, 10].w, 0)
        }
    }

    func testALoadStartedOffScreenContinuesThere() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let (normal, other) = (try fixture.url("normal"), try fixture.url("other"))
            try fixture.remember(.blue, at: other)
            picture.setImage(normal, manager: fixture.manager)
            // Another slot of the view comes to show something.
            picture.isHighlighted = true
            picture.highlighted.setImage(other, manager: fixture.manager)
            pumpUntilIdle()
            XCTAssertEqual(fixture.loader.lastLoad(of: normal)?.isCancelled, false)
            destroyUnparented(picture)
        }
    }

    func testALoadContinuesOffScreenIfTheViewLoadsThere() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            picture.loadsOffscreen = true
            window.show(picture)
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager)
            gtk_widget_set_visible(picture.widget, gboolean(0))
            pumpUntilIdle()
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.isCancelled, false)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { picture.image != nil }
        }
    }

    func testAnEarlierLoadMayContinueBesideALaterOne() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let (early, late) = (try fixture.url("early"), try fixture.url("late"))
            let outcomes = Outcomes()
            picture.setImage(early, manager: fixture.manager, completion: { outcomes.append($0) })
            picture.setImage(late, options: .avoidAutoCancel, manager: fixture.manager)
            XCTAssertEqual(fixture.loader.lastLoad(of: early)?.isCancelled, false)
            fixture.loader.lastLoad(of: late)?.answer(.blue)
            pump("the image") { picture.image != nil }
            fixture.loader.lastLoad(of: early)?.answer(.red)
            pump("the other end") { outcomes.successCount == 1 }
            XCTAssertEqual(drawnPixel(of: picture), Swatch.blue.pixel)
            destroyUnparented(picture)
        }
    }

    func testAnEarlierLoadBesideALaterOneEndsAlsoWhenTheViewHasGone() throws {
        try MainActor.assumeIsolated {
            let fixture = PictureFixture()
            let (early, late) = (try fixture.url("early"), try fixture.url("late"))
            let outcomes = Outcomes()
            do {
                let picture = WebPicture()
                picture.setImage(early, manager: fixture.manager, completion: { outcomes.append($0) })
                picture.setImage(
                    late, options: .avoidAutoCancel, manager: fixture.manager, completion: { outcomes.append($0) })
                destroyUnparented(picture)
            }
            pump("the cancel") { outcomes.errors == [.cancelled] }
            XCTAssertEqual(fixture.loader.lastLoad(of: early)?.isCancelled, false)
            fixture.loader.lastLoad(of: early)?.answer(.red)
            pump("the other end") { outcomes.successCount == 1 }
        }
    }

    func testAViewOnScreenHasAHighPriorityUnlessOneIsSet() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            @MainActor func priority(
                _ name: String, _ priority: LoadPriority? = nil
            ) throws -> LoadPriority? {
                let url = try fixture.url(name)
                picture.setImage(url, priority: priority, manager: fixture.manager)
                let set = fixture.loader.lastLoad(of: url)?.priority
                // The same as a request.
                let other = try fixture.url("\(name)-request")
                picture.setImage(WebImageRequest(other, priority: priority), manager: fixture.manager)
                XCTAssertEqual(fixture.loader.lastLoad(of: other)?.priority, set, name)
                return set
            }
            XCTAssertEqual(try priority("none"), .high)
            XCTAssertEqual(try priority("low", .low), .low)
            XCTAssertEqual(try priority("set", .veryHigh), .veryHigh)
            XCTAssertEqual(try priority("set lower", .normal), .normal)
        }
    }

    func testDestroyingManyViewsInTheMiddleOfTheirLoads() throws {
        try MainActor.assumeIsolated {
            let fixture = PictureFixture()
            let outcomes = Outcomes()
            for round in 0..<20 {
                let window = TestWindow()
                for number in 0..<20 {
                    let picture = WebPicture()
                    picture.indicator = .spinner()
                    picture.transition = .zoomIn()
                    window.add(picture.widget)
                    picture.setImage(
                        try fixture.url("\(round)-\(number)"), manager: fixture.manager,
                        completion: { outcomes.append($0) })
                }
                window.present()
                for load in fixture.loader.loads.suffix(20) {
                    switch Int.random(in: 0..<3) {
                    case 0: load.begin(expectedByteCount: 5)
                    case 1: load.answer(.blue)
                    default: break
                    }
                }
                for _ in 0..<round { g_main_context_iteration(nil, gboolean(0)) }
                window.close()
            }
            pump("all ends") { outcomes.results.count == 400 }
            pumpUntilIdle()
            XCTAssertEqual(outcomes.results.count, 400)
            pump("no work left") { fixture.manager.runningOperations.isEmpty }
        }
    }
}

@MainActor private final class DelayedAnswer {
    static let shared = DelayedAnswer()
    var call: MainLoopCall?
}

/// A window in which `picture` can be scrolled, at rest.
@MainActor private func scrolling(
    _ picture: WebPicture
) -> (window: TestWindow, adjustment: UnsafeMutablePointer<GtkAdjustment>)? {
    let window = TestWindow()
    guard let scrolledWindow = gtk_scrolled_window_new(), let box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)
    else { return nil }
    gtk_widget_set_size_request(box, 50, 2000)
    gtk_box_append(asBox(box), picture.widget)
    gtk_scrolled_window_set_child(OpaquePointer(scrolledWindow), box)
    gtk_widget_set_size_request(scrolledWindow, 100, 100)
    window.add(scrolledWindow)
    window.present()
    pump("the map") { picture.imageSlot.isOnScreen }
    pumpUntilIdle()
    pump("rest") { ScrollWatch.around(picture.widget)?.isScrolling == false }
    return gtk_scrolled_window_get_vadjustment(OpaquePointer(scrolledWindow)).map { (window, $0) }
}

/// A view shows the image of the last URL that was set, in any order of responses.
final class RapidChangeTests: GTKTestCase {
    func testTheLastOfManyURLsWinsInEachOfFiftyViews() throws {
        try MainActor.assumeIsolated {
            let server = try ReverseServer()
            let manager = WebImageManager(
                configuration: WebImageManager.Configuration(
                    cache: ImageCache(memory: MemoryCache(costLimit: 1 << 14), disk: nil),
                    loaders: [ImageDownloader()], codecs: CodecRegistry(decoders: [SwatchDecoder()], encoders: [])))
            let window = TestWindow()
            defer { window.close() }
            let (viewCount, changeCount) = (50, ReleaseChecks.choose(2_000, forRelease: 10_000))
            let pictures = (0..<viewCount).map { _ in WebPicture() }
            var wanted = [SIMD4<UInt8>](repeating: SIMD4(0, 0, 0, 0), count: viewCount)
            var staleCount = 0
            for (view, picture) in pictures.enumerated() {
                gtk_widget_set_size_request(picture.widget, 4, 4)
                window.add(picture.widget)
                picture.onLoadStateChange = { [weak picture] state in
                    guard case .loaded = state else { return }
                    if picture?.image?.pixels[0, 0] != wanted[view] { staleCount += 1 }
                }
            }
            window.present()
            pump("the map") { pictures.allSatisfy { $0.imageSlot.isOnScreen } }

            let outcomes = Outcomes()
            var random = SplitMix64(seed: 10)
            for number in 0..<changeCount {
                let view = Int.random(in: 0..<viewCount, using: &random)
                // Few enough colours that URLs come back, and some are in memory.
                let (red, green) = (UInt8((number / 4) & 255), UInt8((number / 4) >> 8))
                wanted[view] = SIMD4(red, green, UInt8(view), 255)
                pictures[view].setImage(
                    try server.url(red: red, green: green, blue: UInt8(view)), manager: manager,
                    completion: { outcomes.append($0) })
                if number % 20 == 0 { while g_main_context_iteration(nil, gboolean(0)) != 0 {} }
                // Once in a while the answers come, in their order.
                if number % (changeCount / 10) == changeCount / 10 - 1 {
                    pump("pictures") { pictures.allSatisfy { $0.loadState.isSettled } }
                }
            }
            pump("the last pictures") { pictures.allSatisfy { $0.loadState.isSettled } }
            pump("all completions") { outcomes.results.count == changeCount }
            pumpUntilIdle()
            XCTAssertEqual(staleCount, 0)
            XCTAssertEqual(outcomes.results.count, changeCount)
            XCTAssertTrue(outcomes.errors.allSatisfy { $0 == .cancelled })
            for (view, picture) in pictures.enumerated() {
                XCTAssertEqual(drawnPixel(of: picture), wanted[view])
            }
        }
    }
}

extension LoadState {
    fileprivate var isSettled: Bool {
        switch self {
        case .idle, .loaded, .failed: true
        case .loading: false
        }
    }
}
