import CWebImageGTK
import XCTest

@testable import WebImageGTK

/// Slots of any widget.
final class ImageSlotTests: GTKTestCase {
    func testHandsPicturesToAClosure() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), TestWindow())
            defer { window.close() }
            var shown: [String] = []
            let slot = ImageSlot(on: window.box, key: "icon") { content in
                switch content {
                case .empty: shown.append("empty")
                case .placeholder: shown.append("placeholder")
                case .image(let image):
                    shown.append("image")
                    let texture = image.makeTexture()
                    XCTAssertEqual(gdk_texture_get_width(texture), 4)
                    g_object_unref(UnsafeMutableRawPointer(texture))
                }
            }
            let url = try fixture.url("red")
            slot.setImage(url, placeholder: .color(.white), manager: fixture.manager)
            XCTAssertEqual(shown, ["placeholder"])
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the picture") { slot.image != nil }
            slot.imageURL = nil
            XCTAssertEqual(shown, ["placeholder", "image", "empty"])
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
            slot.setImage(try Swatch.red.image())
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
            pump("the picture") { [first, second].allSatisfy { $0.states.last == .loaded(.remote) } }
            XCTAssertEqual(calls.first, start)
            XCTAssertEqual(calls.last, .loaded(.remote))
            XCTAssertEqual(third.states, [.idle])
            window.close()
            pump("the end") { first.isOver && second.isOver }
            XCTAssertTrue(first.states.last == .loaded(.remote))
        }
    }

    func testProgressIsAFractionWhereTheLengthIsKnown() {
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
