import CWebImageGTK
import Foundation
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK
@testable import WebImageAnimation

private let colors: [Swatch] = [.red, .green, .blue]

/// Animations in views.
final class PictureAnimationTests: GTKTestCase {

    func testPlaysWhileItIsOnScreen() throws {
        try MainActor.assumeIsolated {
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            let animation = TestAnimation(colors)
            picture.image = try animation.image()
            XCTAssertEqual(picture.player?.status, .playing)
            XCTAssertEqual(picture.player?.isVisible, false)
            window.show(picture)
            XCTAssertEqual(picture.player?.isVisible, true)
            var seen: Set<SIMD4<UInt8>> = []
            pump("all frames") {
                seen.insert(drawnPixel(of: picture))
                return seen.count == 3
            }
            XCTAssertEqual(seen, Set(colors.map(\.pixel)))
        }
    }

    func testPausesWhileItIsOffScreen() throws {
        try MainActor.assumeIsolated {
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            picture.image = try TestAnimation(colors).image()
            pump("the second frame") { picture.player?.currentFrameIndex == 1 }
            gtk_widget_set_visible(picture.widget, gboolean(0))
            XCTAssertEqual(picture.player?.isVisible, false)
            let frame = picture.player?.currentFrameIndex
            var eventCount = 0
            picture.onAnimationEvent = { _ in eventCount += 1 }
            var isOver = false
            let call = MainLoopCall.after(milliseconds: 100) { isOver = true }
            pump("five frames' time") { isOver }
            withExtendedLifetime(call) {}
            XCTAssertEqual(eventCount, 0)
            XCTAssertEqual(picture.player?.currentFrameIndex, frame)
            gtk_widget_set_visible(picture.widget, gboolean(1))
            pump("it continues") { picture.player?.currentFrameIndex != frame }
        }
    }

    func testFramesAreSetOnMainWithAFrameOfTheWindow() throws {
        try MainActor.assumeIsolated {
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            var phases: Set<UInt32> = []
            var count = 0
            picture.onAnimationEvent = { event in
                guard case .frame = event else { return }
                XCTAssertTrue(Thread.isMainThread)
                if let clock = gtk_widget_get_frame_clock(picture.widget), count > 0 {
                    // Inside a frame its time is that of the frame, a moment ago.
                    phases.insert(g_get_monotonic_time() - gdk_frame_clock_get_frame_time(clock) < 50_000 ? 1 : 0)
                }
                count += 1
            }
            picture.image = try TestAnimation(colors).image()
            pump("ten frames") { count > 10 }
            XCTAssertEqual(phases, [1])
        }
    }

    func testDoesNotStartWithoutAutoplay() throws {
        try MainActor.assumeIsolated {
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            picture.autoplay = false
            picture.image = try TestAnimation(colors).image()
            XCTAssertEqual(picture.player?.status, .stopped)
            picture.player?.play()
            pump("a frame") { drawnPixel(of: picture) == Swatch.green.pixel }

            setAnimations(false)
            defer { setAnimations(true) }
            (picture.autoplay, picture.autoplayFollowsSettings) = (true, true)
            picture.image = try TestAnimation(colors).image()
            XCTAssertEqual(picture.player?.status, .stopped)
            picture.autoplayFollowsSettings = false
            picture.image = try TestAnimation(colors).image()
            XCTAssertEqual(picture.player?.status, .playing)
        }
    }

    func testPausesAndSeeks() throws {
        try MainActor.assumeIsolated {
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            picture.image = try TestAnimation(colors).image()
            picture.player?.pause()
            XCTAssertNotEqual(picture.player?.status, .playing)
            picture.player?.seek(toFrame: 2)
            pump("the last frame") { drawnPixel(of: picture) == Swatch.blue.pixel }
            picture.player?.seek(toFrame: 99)
            pumpUntilIdle()
            XCTAssertEqual(drawnPixel(of: picture), Swatch.blue.pixel)
        }
    }

    func testViewsOfOneAnimationShareItsFrames() throws {
        try MainActor.assumeIsolated {
            let window = TestWindow()
            defer { window.close() }
            let animation = TestAnimation(colors)
            let image = try animation.image()
            let pictures = (0..<20).map { _ in WebPicture() }
            for picture in pictures {
                window.show(picture)
                picture.image = image
            }
            pump("a loop of each") { pictures.allSatisfy { $0.player?.completedLoopCount ?? 0 > 0 } }
            // The poster is the first frame.
            XCTAssertEqual(animation.decodedFrameCount, 2)
        }
    }

    func testALongerVersionPlaysOn() throws {
        try MainActor.assumeIsolated {
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let identity = AnimationIdentity()
            picture.image = try TestAnimation([.red, .green], identity: identity, isComplete: false).image()
            let player = picture.player
            pump("the end of what is there") { player?.isWaiting == true && player?.currentFrameIndex == 1 }
            picture.image = try TestAnimation(colors, identity: identity).image()
            XCTAssertTrue(picture.player === player)
            pump("the new frame") { drawnPixel(of: picture) == Swatch.blue.pixel }
        }
    }

    func testAnotherImageEndsIt() throws {
        try MainActor.assumeIsolated {
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            picture.image = try TestAnimation([.green, .blue]).image()
            weak let player = picture.player
            picture.image = try Swatch.red.image()
            XCTAssertNil(picture.player)
            pump("the player's end") { player == nil }
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
        }
    }

    func testItsClockMayBeReleasedOnAnotherThread() {
        MainActor.assumeIsolated {
            let clock = LockBox<ViewAnimationClock?>(ViewAnimationClock(host: nil))
            weak let released = clock.withLock { $0 }
            Thread.detachNewThread { clock.withLock { $0 = nil } }
            pump("the release") { released == nil }
        }
    }

    func testPlaysTheGivenNumberOfTimes() throws {
        try MainActor.assumeIsolated {
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            var isFinished = false
            picture.onAnimationEvent = { if case .finished = $0 { isFinished = true } }
            picture.playback.loopCount = 2
            picture.image = try TestAnimation(colors, frameDuration: 0.01).image()
            pump("the end") { isFinished }
            XCTAssertEqual(picture.player?.completedLoopCount, 2)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.blue.pixel)
        }
    }

    func testAHighlightedAnimationPlaysBesideAStillImage() throws {
        try MainActor.assumeIsolated {
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            picture.image = try Image(color: .white, size: PointSize(width: 4, height: 4))
            picture.highlighted.set(try TestAnimation(colors).image())
            window.show(picture)
            XCTAssertNil(picture.player)
            picture.isHighlighted = true
            XCTAssertEqual(picture.highlighted.player?.isPlaying, true)
            var seen: Set<SIMD4<UInt8>> = []
            pump("all frames") {
                seen.insert(drawnPixel(of: picture))
                return seen.isSuperset(of: colors.map(\.pixel))
            }
            picture.isHighlighted = false
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(255, 255, 255, 255))
            XCTAssertEqual(picture.highlighted.player?.isVisible, false)
        }
    }
}
