import CWebImageGTK
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK

/// The drawing of transitions, compared with their geometry; without a display.
final class TransitionDrawingTests: XCTestCase {
    override func setUp() { _ = gtk_init_check() }

    func testFadesMixEvenly() throws {
        try MainActor.assumeIsolated {
            let drawing = try draw(.fade(), at: 0.25)
            XCTAssertEqual(Double(drawing[20, 20].x), 255 * 0.75, accuracy: 2)
            XCTAssertEqual(Double(drawing[20, 20].z), 255 * 0.25, accuracy: 2)
        }
    }

    func testSlidesPushTheOldImageOut() throws {
        try MainActor.assumeIsolated {
            let cases: [(ImageTransition.Edge, new: (Int, Int), old: (Int, Int))] = [
                (.left, (5, 20), (35, 20)), (.right, (35, 20), (5, 20)), (.top, (20, 5), (20, 35)),
                (.bottom, (20, 35), (20, 5)), (.leading, (5, 20), (35, 20)), (.trailing, (35, 20), (5, 20)),
            ]
            for (edge, new, old) in cases {
                let drawing = try draw(.slide(from: edge), at: 0.5)
                XCTAssertEqual(drawing[new.0, new.1], Swatch.blue.pixel, "\(edge)")
                XCTAssertEqual(drawing[old.0, old.1], Swatch.red.pixel, "\(edge)")
            }
            // A quarter: ten of forty points are new.
            let drawing = try draw(.slide(from: .left), at: 0.25)
            XCTAssertEqual(drawing[9, 20], Swatch.blue.pixel)
            XCTAssertEqual(drawing[11, 20], Swatch.red.pixel)
        }
    }

    func testSlidesFollowTheDirectionOfText() throws {
        try MainActor.assumeIsolated {
            let drawing = try draw(.slide(from: .leading), at: 0.5, isRightToLeft: true)
            XCTAssertEqual(drawing[35, 20], Swatch.blue.pixel)
            XCTAssertEqual(drawing[5, 20], Swatch.red.pixel)
        }
    }

    func testZoomsGrowFromTheCenterAndShrinkIntoIt() throws {
        try MainActor.assumeIsolated {
            for (transition, middle, rim) in [
                (ImageTransition.zoomIn(), Swatch.blue, Swatch.red), (.zoomOut(), .red, .blue),
            ] {
                let drawing = try draw(transition, at: 0.5)
                // Half of forty points: from 10 to 30.
                for place in [11, 20, 28] { XCTAssertEqual(drawing[place, place], middle.pixel) }
                for place in [2, 8, 31, 38] { XCTAssertEqual(drawing[place, 20], rim.pixel) }
            }
        }
    }

    func testFlipsTurnTheOldSideAwayAndTheNewOneUp() throws {
        try MainActor.assumeIsolated {
            for (edge, isVertical) in [
                (ImageTransition.Edge.left, false), (.right, false), (.top, true), (.bottom, true),
            ] {
                for (progress, side) in [(0.25, Swatch.red), (0.75, .blue)] {
                    let drawing = try draw(.flip(from: edge), at: progress)
                    XCTAssertEqual(drawing[20, 20], side.pixel, "\(edge) at \(progress)")
                    // An eighth of a turn, seen from twice the length: on the near side 20·cos 45° / (1 − sin 45°/4) =
                    // 17.2 points from the middle, on the far side 12.0.
                    let (near, far) = edge == .left || edge == .top ? (-1, 1) : (1, -1)
                    let turn = progress < 0.5 ? 1 : -1
                    func pixel(_ distance: Int) -> SIMD4<UInt8> {
                        isVertical ? drawing[20, 20 + distance] : drawing[20 + distance, 20]
                    }
                    _ = far
                    let nearSide = near * turn
                    XCTAssertEqual(pixel(nearSide * 14).w, 255, "\(edge) at \(progress)")
                    XCTAssertEqual(pixel(-nearSide * 14).w, 0, "\(edge) at \(progress)")
                }
                XCTAssertEqual(try draw(.flip(from: edge), at: 0.5)[20, 20].w, 0)
            }
        }
    }

    func testACustomTransitionDrawsEachImageWhereItIsToldTo() throws {
        try MainActor.assumeIsolated {
            let halves = ImageTransition(draw: { frame in
                frame.drawOld()
                frame.moved(x: 10, y: 0) { frame.drawNew() }
            })
            let drawing = try draw(halves, at: 0.5)
            XCTAssertEqual(drawing[9, 20], Swatch.red.pixel)
            XCTAssertEqual(drawing[11, 20], Swatch.blue.pixel)
            // The old image covers the new one where it is drawn last.
            let others = ImageTransition(draw: { frame in
                frame.drawNew()
                frame.drawOld()
            })
            XCTAssertEqual(try draw(others, at: 0.5)[11, 20], Swatch.red.pixel)
        }
    }

    func testEveryTransitionBeginsWithTheOldImageAndEndsWithTheNew() throws {
        try MainActor.assumeIsolated {
            let all: [ImageTransition] =
                [.fade(), .previewFade, .zoomIn(), .zoomOut()]
                + ImageTransition.Edge.allCases.flatMap { [.slide(from: $0), .flip(from: $0)] }
            for transition in all {
                for place in [1, 20, 38] {
                    XCTAssertEqual(try draw(transition, at: 0)[place, place], Swatch.red.pixel)
                    XCTAssertEqual(try draw(transition, at: 1)[place, place], Swatch.blue.pixel)
                }
            }
            XCTAssertEqual(ImageTransition.fade().duration, .milliseconds(200))
            XCTAssertEqual(ImageTransition.previewFade.duration, .milliseconds(400))
            XCTAssertEqual(ImageTransition.zoomIn().duration, .milliseconds(500))
        }
    }

    func testTimingsRunFromZeroToOne() {
        var transition = ImageTransition()
        XCTAssertEqual(transition.progress(at: 0.25), 0.125)
        XCTAssertEqual(ImageTransition.fade().progress(at: 0.75), 0.875)
        transition.timing = { _ in 7 }
        XCTAssertEqual([-1, 0, 0.5, 1, 2].map { transition.progress(at: $0) }, [0, 0, 7, 1, 1])
    }

    func testAFadeTakesAFifthOfASecond() throws {
        try MainActor.assumeIsolated {
            let paintable = PicturePaintable()
            paintable.painter.show(try Swatch.red.image())
            paintable.painter.show(try Swatch.blue.image(), with: .fade())
            let run = TransitionRun(.fade(), in: nil) { paintable.painter.setProgress($0) }
            let start: gint64 = 5_000_000
            for (milliseconds, part) in [(0, 0), (50, 0.125), (100, 0.5), (150, 0.875), (199, 0.9999)] {
                XCTAssertTrue(run.advance(to: start + gint64(milliseconds) * 1000))
                let blue = Rendering(of: paintable.reference.pointer.opaque, width: 4, height: 4)[2, 2].z
                XCTAssertEqual(Double(blue) / 255, part, accuracy: 0.01)
            }
            XCTAssertFalse(run.advance(to: start + 200_000))
            XCTAssertEqual(
                Rendering(of: paintable.reference.pointer.opaque, width: 4, height: 4)[2, 2], Swatch.blue.pixel)
        }
    }
}

/// From red to blue, in a square of 40 points.
@MainActor private func draw(
    _ transition: ImageTransition, at progress: Double, isRightToLeft: Bool = false
) throws -> Rendering {
    let paintable = PicturePaintable()
    paintable.painter.isRightToLeft = isRightToLeft
    paintable.painter.contentMode = .scaleToFill
    paintable.painter.show(try Swatch.red.image())
    paintable.painter.show(try Swatch.blue.image(), with: transition)
    paintable.painter.setProgress(progress)
    return Rendering(of: paintable.reference.pointer.opaque, width: 40, height: 40)
}

/// When transitions happen, and what they tell.
final class TransitionStepsTests: GTKTestCase {
    func testReportsItsStepsInOrder() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let steps = Steps()
            picture.transition = steps.recording(.slide(from: .left, duration: .milliseconds(60)))
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the end") { steps.list.last == "complete true" }
            XCTAssertEqual(steps.list.first, "prepare without picture")
            XCTAssertEqual(steps.list[1], "animate 0.0")
            XCTAssertEqual(steps.list.dropLast().last, "animate 1.0")
            XCTAssertGreaterThan(steps.list.count, 3)
            XCTAssertFalse(picture.imageSlot.isInTransition)
            XCTAssertFalse(picture.imageSlot.isTicking)
        }
    }

    func testAnotherURLEndsIt() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let steps = Steps()
            picture.transition = steps.recording(.flip(from: .top, duration: .seconds(60)))
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the beginning") { steps.list.count > 2 }
            picture.setImage(try fixture.url("other"), manager: fixture.manager)
            XCTAssertEqual(steps.list.last, "complete false")
            pumpUntilIdle()
            XCTAssertEqual(steps.list.last, "complete false")
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(0, 0, 0, 0))
        }
    }

    func testIsNotForMemoryUnlessForced() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            picture.transition = .zoomIn()
            let (red, blue) = (try fixture.url("red"), try fixture.url("blue"))
            try fixture.remember(.red, at: red)
            try fixture.remember(.blue, at: blue)
            picture.setImage(red, manager: fixture.manager)
            XCTAssertFalse(picture.imageSlot.isInTransition)
            picture.setImage(blue, options: .forceTransition, manager: fixture.manager)
            XCTAssertTrue(picture.imageSlot.isInTransition)
        }
    }

    func testACompletionCanWaitForItsEnd() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            picture.transition = .fade(duration: .milliseconds(60))
            let (red, blue) = (try fixture.url("red"), try fixture.url("blue"))
            var wasInTransition: [Bool] = []
            let outcomes = Outcomes()
            picture.setImage(
                red, options: .waitTransition, manager: fixture.manager,
                completion: {
                    outcomes.append($0)
                    wasInTransition.append(picture.imageSlot.isInTransition)
                })
            fixture.loader.lastLoad(of: red)?.answer(.red)
            pump("the image") { picture.image != nil }
            XCTAssertTrue(outcomes.results.isEmpty)
            pump("the completion") { outcomes.successCount == 1 }
            XCTAssertEqual(wasInTransition, [false])
            // Cut short, it is called all the same, and once.
            picture.setImage(
                blue, options: .waitTransition, manager: fixture.manager, completion: { outcomes.append($0) })
            fixture.loader.lastLoad(of: blue)?.answer(.blue)
            pump("the other picture") { picture.loadState == .loaded(.remote) }
            picture.imageURL = nil
            pump("the other completion") { outcomes.successCount == 2 }
            pumpUntilIdle()
            XCTAssertEqual(outcomes.results.count, 2)
        }
    }

    func testCanLeaveSettingTheImageToItsClosures() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            var transition = ImageTransition(duration: .milliseconds(20))
            transition.setsImage = false
            let prepared = LockBox<Image?>(nil)
            transition.prepare = { _, image in prepared.withLock { $0 = image } }
            picture.transition = transition
            let url = try fixture.url("red")
            picture.setImage(url, placeholder: .color(.white), manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the closure") { prepared.withLock { $0 } != nil }
            pump("the end") { !picture.imageSlot.isInTransition }
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(255, 255, 255, 255))
        }
    }

    func testShowsTheImageAtOnceWithoutAnimations() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            setAnimations(false)
            defer { setAnimations(true) }
            let steps = Steps()
            picture.transition = steps.recording(.slide(from: .top))
            let url = try fixture.remembered(.red, as: "red")
            picture.setImage(url, options: .forceTransition, manager: fixture.manager)
            XCTAssertEqual(steps.list, ["prepare without picture", "complete true"])
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
        }
    }

    func testTheImageOnDisplayIsNotShownAgain() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let steps = Steps()
            picture.transition = steps.recording(.fade(duration: .seconds(60)))
            let url = try fixture.remembered(.red, as: "red")
            // The second request is answered by memory, not by the image on display.
            for options in [WebImageOptions(), .queryMemoryData] {
                picture.setImage(
                    url, options: .forceTransition, loadOptions: options, manager: fixture.manager)
            }
            XCTAssertTrue(picture.imageSlot.isInTransition)
            XCTAssertEqual(steps.list, ["prepare without picture"])
        }
    }

    func testEachFrameHasOneStepOfTheLastTransition() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let (red, blue) = (try fixture.remembered(.red, as: "red"), try fixture.remembered(.blue, as: "blue"))
            picture.transition = .fade(duration: .seconds(60))
            picture.setImage(red, options: .forceTransition, manager: fixture.manager)
            let steps = Steps()
            picture.transition = steps.recording(.fade(duration: .milliseconds(60)))
            picture.setImage(blue, options: .forceTransition, manager: fixture.manager)
            pump("the end") { steps.list.last == "complete true" }
            XCTAssertEqual(Set(steps.list).count, steps.list.count, "\(steps.list)")
        }
    }

    func testAViewThatLeavesTheScreenEndsIt() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let steps = Steps()
            picture.transition = steps.recording(.fade(duration: .seconds(60)))
            let url = try fixture.remembered(.red, as: "red")
            let outcomes = Outcomes()
            picture.setImage(
                url, options: [.forceTransition, .waitTransition], manager: fixture.manager,
                completion: { outcomes.append($0) })
            gtk_widget_set_visible(picture.widget, gboolean(0))
            XCTAssertEqual(steps.list.last, "complete false")
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            pump("the completion") { outcomes.successCount == 1 }
            XCTAssertFalse(picture.imageSlot.isTicking)
        }
    }

    @MainActor private final class Steps {
        private(set) var list: [String] = []

        func recording(_ transition: ImageTransition) -> ImageTransition {
            var transition = transition
            transition.prepare = { [self] slot, _ in
                list.append("prepare \(slot.painter.top.isEmpty ? "without" : "with") picture")
            }
            transition.animate = { [self] in list.append("animate \($1)") }
            transition.complete = { [self] in list.append("complete \($1)") }
            return transition
        }
    }
}
