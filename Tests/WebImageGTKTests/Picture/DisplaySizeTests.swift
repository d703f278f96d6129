import CWebImageGTK
import FoundationEssentials
import XCTest

@testable import WebImageGTK

/// Decoding at the size of the view.
final class DisplaySizeTests: GTKTestCase {
    func testDecodesAtTheSizeTheLayoutGivesAndAgainWhenItGrows() {
        MainActor.assumeIsolated {
            let (fixture, window, picture) = (PhotographFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            picture.decodesAtDisplaySize = true
            picture.contentMode = .scaleAspectFill
            gtk_widget_set_size_request(picture.widget, 60, 40)
            gtk_widget_set_halign(picture.widget, GTK_ALIGN_START)
            window.show(picture)
            pump("the layout") { gtk_widget_get_width(picture.widget) == 60 }
            let outcomes = Outcomes()
            picture.setImage(fixture.url, manager: fixture.manager, completion: { outcomes.append($0) })
            pump("the picture") { picture.image != nil }
            let scale = gtk_widget_get_scale_factor(picture.widget)
            // 400 by 200 pixels that cover 60 by 40 points.
            XCTAssertEqual(picture.image?.height, 40 * Int(scale))
            XCTAssertEqual(picture.image?.width, 80 * Int(scale))

            var states: [LoadState] = []
            picture.onLoadStateChange = { states.append($0) }
            gtk_widget_set_size_request(picture.widget, 120, 100)
            pump("more pixels") { picture.image?.height == 100 * Int(scale) }
            XCTAssertEqual(picture.loadState, .loaded(.remote))
            gtk_widget_set_size_request(picture.widget, 600, 400)
            pump("all there are") { picture.image?.height == 200 }
            gtk_widget_set_size_request(picture.widget, 60, 40)
            pumpUntilIdle()
            XCTAssertEqual(picture.image?.height, 200)
            XCTAssertEqual(states, [], "nobody needs to know")
            XCTAssertEqual(outcomes.results.count, 1)
        }
    }

    func testTheImageHasTheScaleOfItsRequestIfThatSetsOne() {
        MainActor.assumeIsolated {
            let (fixture, window, picture) = (PhotographFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            showSmall(picture, in: window)
            picture.setImage(WebImageRequest(fixture.url, scale: 3), manager: fixture.manager)
            pump("the image") { picture.image != nil }
            XCTAssertEqual(picture.image?.scale, 3)
        }
    }

    func testTheImageHasTheScaleOfTheScreen() throws {
        let run = try GalleryRun([], of: "AdwaitaProbe", scale: 2)
        try XCTSkipIf(run.exitStatus == 77, "no libadwaita: install libadwaita-1-0")
        XCTAssertTrue(run.output.contains("\nscale 2.0\n"), run.output + run.errors)
    }

    func testWaitsForTheLayout() {
        MainActor.assumeIsolated {
            let (fixture, window, picture) = (PhotographFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            picture.decodesAtDisplaySize = true
            gtk_widget_set_hexpand(picture.widget, gboolean(1))
            gtk_widget_set_vexpand(picture.widget, gboolean(1))
            picture.setImage(fixture.url, placeholder: .color(.white), manager: fixture.manager)
            XCTAssertEqual(picture.loadState, .loading(received: 0, expected: nil))
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(255, 255, 255, 255))
            pumpUntilIdle()
            XCTAssertNil(picture.image)
            window.show(picture)
            pump("the picture") { picture.image != nil }
            XCTAssertEqual(picture.image?.width, Int(gtk_widget_get_width(picture.widget)))
            XCTAssertEqual(picture.image?.isThumbnail, true)
        }
    }

    func testAViewThatGetsNoRoomDecodesTheWhole() {
        MainActor.assumeIsolated {
            let (fixture, window, picture) = (PhotographFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            picture.decodesAtDisplaySize = true
            gtk_widget_set_halign(picture.widget, GTK_ALIGN_START)
            gtk_widget_set_valign(picture.widget, GTK_ALIGN_START)
            picture.setImage(fixture.url, manager: fixture.manager)
            window.show(picture)
            pump("the picture") { picture.image != nil }
            XCTAssertEqual(picture.image?.width, 400)
        }
    }

    func testNoticesThatTheViewHasGrownWhileItLoaded() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(decodesPNG: true), TestWindow(), WebPicture())
            defer { window.close() }
            showSmall(picture, in: window)
            let url = try fixture.url("photograph")
            picture.setImage(url, manager: fixture.manager)
            gtk_widget_set_size_request(picture.widget, 200, 100)
            pump("the layout") { gtk_widget_get_width(picture.widget) == 200 }
            let file = try CodecRegistry.shared.encode(Swatch(red: 1, green: 2, blue: 3, width: 250).image(), as: .png)
            pump("the larger one") {
                answer(fixture.loader.lastLoad(of: url), with: file)
                return picture.image?.width == 200 * Int(gtk_widget_get_scale_factor(picture.widget))
            }
        }
    }

    func testAnAnimationGoesOnWhereItIsWhenTheViewGrows() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(decodesPNG: true), TestWindow(), WebPicture())
            defer { window.close() }
            showSmall(picture, in: window)
            let url = try fixture.url("film")
            let file = try film(frameCount: 8, duration: 0.02, width: 200)
            var shownFrames: [Int] = []
            picture.onAnimationEvent = { if case .frame(let index, _) = $0 { shownFrames.append(index) } }
            picture.setImage(url, manager: fixture.manager)
            answer(fixture.loader.lastLoad(of: url), with: file)
            pump("the second time round") {
                picture.player?.completedLoopCount ?? 0 > 0 && picture.player?.currentFrameIndex == 5
            }
            picture.pause()
            XCTAssertEqual(picture.player?.currentFrame?.width, 40)
            let player = picture.player
            let loopCount = player?.completedLoopCount
            shownFrames = []
            gtk_widget_set_size_request(picture.widget, 160, 80)
            pump("more pixels") {
                answer(fixture.loader.lastLoad(of: url), with: file)
                return player?.currentFrame?.width == 160
            }
            XCTAssertTrue(picture.player === player)
            XCTAssertEqual(player?.currentFrameIndex, 5)
            XCTAssertEqual(player?.completedLoopCount, loopCount)
            XCTAssertEqual(player?.status, .paused)
            pump("the frame on show") { !shownFrames.isEmpty }
            XCTAssertEqual(shownFrames, [5], "the first frame was not to be seen again")
            picture.play()
            pump("it goes on") { player?.currentFrameIndex == 6 }
            XCTAssertEqual(player?.currentFrame?.width, 160)
        }
    }

    func testASizeOfTheRequestsOwnStays() {
        MainActor.assumeIsolated {
            let (fixture, picture) = (PhotographFixture(), WebPicture())
            picture.decodesAtDisplaySize = true
            picture.setImage(fixture.url, thumbnail: Thumbnail(width: 20, height: 20), manager: fixture.manager)
            pump("the picture") { picture.image != nil }
            XCTAssertEqual(picture.image?.width, 20)
            destroyUnparented(picture)
        }
    }
}

/// A picture of 400 by 200 pixels in a `data:` URL.
private struct PhotographFixture {
    let url: URL
    let manager = WebImageManager(
        configuration: WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(costLimit: 1 << 24), disk: nil)))

    init() {
        let pixels = try? Image(color: Color(red: 0.5, green: 0.2, blue: 0.1), size: PointSize(width: 400, height: 200))
        let data = pixels.flatMap { try? CodecRegistry.shared.encode($0, as: .png) } ?? Data()
        url = URL(string: "data:image/png;base64,\(data.base64EncodedString())") ?? URL(filePath: "/")
    }
}

private func answer(_ load: ManualLoad?, with file: Data) {
    guard let load, !load.isEnded else { return }
    load.begin(expectedByteCount: Int64(file.count))
    load.send(file)
    load.end()
}

/// Lays the picture out at 40 by 20 points, at whose size it decodes.
@MainActor private func showSmall(_ picture: WebPicture, in window: TestWindow) {
    picture.decodesAtDisplaySize = true
    gtk_widget_set_size_request(picture.widget, 40, 20)
    gtk_widget_set_halign(picture.widget, GTK_ALIGN_START)
    window.show(picture)
    pump("the layout") { gtk_widget_get_width(picture.widget) == 40 }
}
