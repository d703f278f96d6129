import CWebImageGTK
import Foundation
import WebImageTestSupport
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// Samples of one photograph in a temporary directory, and a page of them in a window.
@MainActor private final class PageFixture {
    let session: GallerySession
    let samples: Samples
    private let directory: TemporaryDirectory
    private var window: TestWindow?

    init(photographNames: [String] = ["Coast", "Meadow"]) throws {
        directory = try TemporaryDirectory()
        session = GallerySession(cacheDirectory: URL(filePath: directory.path + "/cache"))
        for (number, name) in photographNames.enumerated() {
            try Self.writePhotograph(number, to: "\(directory.path)/\(name).jpg")
        }
        var search = PhotographSearch()
        search.folders = [directory.path]
        samples = Samples(session: session, search: search)
    }

    /// A landscape, small enough to be drawn at once and then enlarged.
    static func writePhotograph(_ number: Int, to path: String, width: Int = 1_024) throws {
        let landscape = try SampleFile.landscape(number, size: PixelSize(width: 128, height: 80))
        let image = try landscape.processed(by: [.resize(to: .pixels(width: width, height: width * 5 / 8))])
        try CodecRegistry.shared.encode(image, as: .jpeg).write(to: URL(filePath: path))
    }

    /// Shows a page and waits until it is settled.
    func show<Page: GalleryPage>(_ page: Page) -> Page {
        let window = TestWindow()
        window.add(page.widget.widget)
        window.present()
        self.window = window
        pump("the page is settled") { page.isSettled }
        return page
    }

    func close() {
        window?.close()
        end(samples.manager)
    }
}

// MARK: - Progressive loading

final class ProgressivePageTests: GTKTestCase {
    func testTheSliderGoesFromNothingToMoreThanAll() throws {
        try MainActor.assumeIsolated {
            let fixture = try PageFixture()
            let page = fixture.show(ProgressivePage(samples: fixture.samples, width: 64))
            defer { fixture.close() }
            XCTAssertTrue(page.isComplete)
            XCTAssertTrue(page.images.contains { $0.name == "Progressive JPEG" })
            XCTAssertTrue(page.images.contains { $0.name == "Interlaced PNG" })
            page.shownPart = 0
            pump("nothing") { page.isSettled }
            XCTAssertTrue(page.images.allSatisfy { $0.image == nil })
            page.shownPart = 0.7
            pump("previews") { page.isSettled }
            let previews = page.images.compactMap(\.image)
            XCTAssertFalse(previews.isEmpty)
            XCTAssertTrue(previews.allSatisfy(\.isPartial))
            for part in [1, 1.05] {
                page.shownPart = part
                pump("whole images") { page.isSettled }
                XCTAssertEqual(page.shownPart, part)
                for (name, image) in page.images { XCTAssertEqual(image?.isPartial, false, name) }
            }
            page.shownPart = 2
            XCTAssertEqual(page.shownPart, 1.05)
            page.shownPart = -1
            pump("nothing again") { page.isSettled }
            XCTAssertTrue(page.images.allSatisfy { $0.image == nil })
        }
    }

    /// Calls `body` with the page, which shows three fifths of each file.
    private func withPreviews(_ body: @MainActor (ProgressivePage) throws -> Void) throws {
        try MainActor.assumeIsolated {
            let fixture = try PageFixture()
            let page = fixture.show(ProgressivePage(samples: fixture.samples, width: 160))
            defer { fixture.close() }
            page.shownPart = 0.6
            pump("previews") { page.isSettled }
            try body(page)
        }
    }

    func testAnInterlacedFileIsWholeAtOnceAndAPlainOneFromAbove() throws {
        try withPreviews { page in
            /// Whether the last row is there.
            @MainActor func reachesTheBottom(_ name: String) throws -> Bool {
                let image = try XCTUnwrap(page.images.first { $0.name == name }?.image, name)
                return image.pixels[image.width / 2, image.height - 1].w == 255
            }
            XCTAssertTrue(try reachesTheBottom("Progressive JPEG"))
            XCTAssertTrue(try reachesTheBottom("Interlaced PNG"))
            XCTAssertFalse(try reachesTheBottom("Plain PNG"))
        }
    }

    func testOnlyCoarsePreviewsAreBlurredOnThePage() throws {
        try withPreviews { page in
            let sharp = page.images
            page.blursPreviews = true
            pump("blurred previews") { page.isSettled }
            for (former, (name, image)) in zip(sharp, page.images) {
                guard let former = former.image, let image else { continue }
                let differs = (0..<image.width).contains { former.pixels[$0, 2] != image.pixels[$0, 2] }
                XCTAssertEqual(differs, ["Progressive JPEG", "Interlaced PNG"].contains(name), name)
            }
        }
    }

    func testCoarsePreviewsAreBlurred() throws {
        let image = try SampleFile.landscape(1, size: PixelSize(width: 160, height: 100))
        let interlaced = try InterlacedPNG.encode(image.pixels)
        let plain = try CodecRegistry.shared.encode(image, as: .png)
        func preview(isBlurred: Bool) throws -> Image {
            let prefix = FilePrefix(file: interlaced, byteCount: interlaced.count * 3 / 5, isBlurred: isBlurred)
            return try XCTUnwrap(prefix.image())
        }
        let (sharp, blurred) = (try preview(isBlurred: false), try preview(isBlurred: true))
        XCTAssertTrue((0..<160).contains { sharp.pixels[$0, 20] != blurred.pixels[$0, 20] })
        XCTAssertNil(FilePrefix(file: plain, byteCount: 3, isBlurred: true).image())
        XCTAssertEqual(FilePrefix(file: plain, byteCount: plain.count, isBlurred: true).image()?.isPartial, false)
    }

    func testInterlacedFilesHaveThePixelsThatWereEncoded() throws {
        for (width, height) in [(1, 1), (3, 9), (8, 8), (13, 5), (160, 100)] {
            let image = try SampleFile.landscape(2, size: PixelSize(width: width, height: height))
            let file = try InterlacedPNG.encode(image.pixels)
            XCTAssertEqual(file[28], 1, "the interlace method")
            let decoded = try CodecRegistry.shared.decode(file).pixels
            XCTAssertEqual(decoded.size, image.pixels.size)
            for y in 0..<height {
                for x in 0..<width { XCTAssertEqual(decoded[x, y], image.pixels[x, y], "\(x), \(y) of \(width)") }
            }
        }
    }

    func testOfManyRequestsMeanwhileOnlyTheLatestIsWorkedOn() throws {
        MainActor.assumeIsolated {
            let gate = DispatchSemaphore(value: 0)
            let worked = LockBox<[Int]>([])
            var shown: [Int] = []
            let work = LatestWork<Int, Int>(
                { input in
                    gate.wait()
                    worked.withLock { $0.append(input) }
                    return input * 10
                }, show: { shown.append($1) })
            for input in 1...5 { work.start(input) }
            XCTAssertFalse(work.isIdle)
            for _ in 1...2 { gate.signal() }
            pump("both") { work.isIdle }
            XCTAssertEqual(worked.withLock { $0 }, [1, 5])
            XCTAssertEqual(shown, [10, 50])
        }
    }
}

// MARK: - Samples

final class GallerySampleTests: GTKTestCase {
    func testPhotographsAreLargeAndDistinct() throws {
        let directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: directory.path + "/nature", withIntermediateDirectories: true)
        try MainActor.assumeIsolated {
            for (number, name) in ["Abstract", "nature/Sea", "nature/Sea_2048x1280", "nature/LadyBird"].enumerated() {
                try PageFixture.writePhotograph(number, to: "\(directory.path)/\(name).jpg")
            }
            try PageFixture.writePhotograph(1, to: "\(directory.path)/nature/Icon.jpg", width: 64)
        }
        try Data("no image".utf8).write(to: URL(filePath: directory.path + "/nature/Broken.jpg"))
        var search = PhotographSearch(folders: [directory.path, "/no/such/folder"])
        XCTAssertEqual(search.photographs().map(\.name), ["LadyBird", "Sea", "Abstract"])
        search.count = 2
        XCTAssertEqual(search.photographs().map(\.name), ["LadyBird", "Sea"])
    }

    func testBackgroundsOfTheUserComeFirst() {
        XCTAssertEqual(PhotographSearch().folders.first, Trash().dataFolder + "/backgrounds")
    }

    func testLandscapesReplacePhotographsWhereThereAreNone() throws {
        let photographs = PhotographSearch(folders: ["/no/such/folder"], count: 3).photographs()
        XCTAssertEqual(photographs.map(\.name), ["Landscape 1", "Landscape 2", "Landscape 3"])
        for photograph in photographs { XCTAssertTrue(SampleLoader().canLoad(photograph.url)) }
        let image = try SampleFile.image(of: photographs[1].url, width: 80, nil)
        XCTAssertEqual(image.pixels.size, PixelSize(width: 80, height: 50))
    }

    func testURLsOfSamplesNameAllThatTheyAreMadeOf() throws {
        let photograph = Photograph(name: "Sea", url: URL(filePath: "/photos/The sea/50 %.jpg"))
        for encoding in SampleFile.Encoding.allCases {
            for content in [SampleFile.Content.still, .animation] {
                let file = SampleFile(content, encoding, width: 96, of: photograph)
                XCTAssertEqual(SampleFile(try XCTUnwrap(file.url)), file)
            }
        }
        for text in ["sample:1/still/jpeg/96", "sample:1/still/bmp/96/file:///a", "sample:1/still/jpeg/0/file:///a"] {
            XCTAssertNil(SampleFile(try XCTUnwrap(URL(string: text))), text)
        }
    }

    func testEncodedFilesComeFromTheCacheLater() throws {
        try MainActor.assumeIsolated {
            let fixture = try PageFixture()
            defer { fixture.close() }
            var origins: [ImageOrigin] = []
            Task {
                let photograph = await fixture.samples.photographs()[0]
                let url = SampleFile(.animation, .gif, width: 32, of: photograph).url
                for _ in 1...2 {
                    let request = WebImageRequest(try XCTUnwrap(url), options: [.waitForStore])
                    let response = try await fixture.samples.manager.response(for: request)
                    XCTAssertEqual(response.image.frameCount, PhotographFlight.frameCount)
                    origins.append(response.origin)
                    fixture.session.cache.memory.removeAll()
                }
            }
            pump("both loads") { origins.count == 2 }
            XCTAssertEqual(origins, [.remote, .diskCache])
        }
    }

    func testASlowLoadDeliversTheFileInPiecesOrStopsBeforeItsEnd() throws {
        try MainActor.assumeIsolated {
            let fixture = try PageFixture()
            defer { fixture.close() }
            let photograph = Photograph(name: "Landscape", url: try XCTUnwrap(URL(string: "sample:landscape/1")))
            var plan = SlowLoader.Plan(of: photograph.url)
            plan.milliseconds = 0
            XCTAssertEqual(SlowLoader.Plan(try XCTUnwrap(plan.url))?.url, plan.url)
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            var fractions: [Double] = []
            picture.onLoadStateChange = { if let fraction = $0.fraction { fractions.append(fraction) } }
            picture.setImage(plan.url, manager: fixture.samples.manager)
            pump("the end") { picture.loadState == .loaded(.remote) }
            XCTAssertEqual(fractions.sorted(), fractions)

            (plan.percent, plan.number) = (60, 1)
            picture.setImage(plan.url, manager: fixture.samples.manager)
            pump("the halt") { picture.loadState.fraction ?? 0 > 0.55 }
            XCTAssertLessThan(picture.loadState.fraction ?? 1, 0.65)
            picture.cancelCurrentRequest()
            XCTAssertEqual(picture.loadState, .idle)
        }
    }
}

// MARK: - Other pages

final class GalleryPageTests: GTKTestCase {
    func testPagesAreMadeWhenTheyAreOpenedAndTheListIsTheWayBack() throws {
        try MainActor.assumeIsolated {
            let fixture = try PageFixture()
            defer { fixture.close() }
            let learn = LearnPage(session: fixture.session)
            let window = TestWindow()
            defer { window.close() }
            window.add(learn.widget.widget)
            window.present()
            XCTAssertNil(learn.page)
            XCTAssertTrue(learn.isSettled)
            XCTAssertFalse(learn.closePage())
            learn.open(.buttons)
            XCTAssertEqual(learn.shownName, .buttons)
            XCTAssertTrue(learn.containsFocus(of: window), "Tab goes on from the button that leads back")
            let page = try XCTUnwrap(learn.page)
            XCTAssertTrue(learn.closePage())
            XCTAssertNil(learn.shownName)
            XCTAssertTrue(learn.containsFocus(of: window), "the row of the page")
            learn.open(.buttons)
            XCTAssertTrue(learn.page === page)
        }
    }

    func testAChangedChainChangesTheImageTheCodeAndTheRows() throws {
        try MainActor.assumeIsolated {
            let fixture = try PageFixture()
            let page = fixture.show(ProcessorsPage(samples: fixture.samples, session: fixture.session))
            defer { fixture.close() }
            XCTAssertEqual(page.result?.pixels.size, PixelSize(width: 480, height: 300))
            page.recipe = ProcessorRecipe(names: ["circle"])
            pump("the circle") { page.isSettled }
            XCTAssertEqual(page.result?.pixels.size, PixelSize(width: 450, height: 450))
            XCTAssertTrue(page.code.contains(".circle()"))
            XCTAssertEqual(page.rows.count, 1)
            page.recipe.steps[0].values["border"] = .number(9)
            pump("the border") { page.isSettled }
            XCTAssertEqual(page.result?.pixels[225, 4], SIMD4(255, 255, 255, 255))

            page.recipe = ProcessorRecipe(names: ["crop"])
            page.recipe.steps[0].values["x"] = .number(9_000)
            pump("an error") { page.isSettled }
            XCTAssertNil(page.result)
            XCTAssertFalse(page.isComplete)
            page.recipe.steps.removeAll()
            pump("the photograph") { page.isSettled }
            XCTAssertEqual(page.result?.pixels.size, PixelSize(width: 720, height: 450))
            XCTAssertTrue(page.rows.isEmpty)
        }
    }

    func testAMovedProcessorStaysOpenAndFocused() throws {
        try MainActor.assumeIsolated {
            let fixture = try PageFixture()
            let page = fixture.show(ProcessorsPage(samples: fixture.samples, session: fixture.session))
            defer { fixture.close() }
            page.recipe = ProcessorRecipe(names: ["circle", "grayscale", "circle"])
            page.recipe.steps[2].values["border"] = .number(9)
            page.rows[2].isExpanded = true
            page.move(2, .up)
            XCTAssertEqual(page.recipe.steps.map(\.name), ["circle", "circle", "grayscale"])
            XCTAssertEqual(page.rows.map(\.isExpanded), [false, true, false])
            XCTAssertTrue(page.rows[1].containsFocus)
            // Two of the same kind trade their parameters.
            page.move(1, .up)
            XCTAssertEqual(page.rows[0].values.number("border"), 9)
            XCTAssertTrue(page.rows[0].isExpanded)
            XCTAssertTrue(page.rows[0].containsFocus, "at the end, on the button that is left")
            page.recipe.steps.append(ProcessorRecipe(names: ["grayscale"]).steps[0])
            XCTAssertEqual(page.rows.map(\.isExpanded), [true, false, false, true], "the new one is open, too")
            page.recipe.steps.removeLast()
            page.move(0, .remove)
            XCTAssertEqual(page.rows.map(\.isExpanded), [false, false])
            XCTAssertTrue(page.rows[0].containsFocus)
        }
    }

    func testViewsShowTheirPhotographsAndButtonsTheirStates() throws {
        try MainActor.assumeIsolated {
            for make in [{ ViewsPage(samples: $0) }, { ButtonsPage(samples: $0) }] as [(Samples) -> PhotographPage] {
                let fixture = try PageFixture()
                let page = fixture.show(make(fixture.samples))
                defer { fixture.close() }
                XCTAssertTrue(page.isComplete)
                XCTAssertGreaterThan(page.slots.count, 10)
                // Those out of sight are idle, which is complete, too.
                let loadedCount = page.slots.count { if case .loaded = $0.loadState { true } else { false } }
                XCTAssertGreaterThan(loadedCount, 5)
            }
        }
    }

    func testAnAnimationIsPausedMovedAndReversed() throws {
        try MainActor.assumeIsolated {
            let exhibit = AnimationExhibit("Colors", "Four colors.")
            let window = TestWindow()
            defer { window.close() }
            window.add(exhibit.card.widget)
            window.present()
            let controls = exhibit.controls
            XCTAssertFalse(controls.widget.get("sensitive", as: Bool.self))
            let animation = TestAnimation([.red, .green, .blue, .red], frameDuration: 0.01)
            exhibit.show(.success(try animation.image()), of: "colors")
            let player = try XCTUnwrap(controls.player)
            XCTAssertTrue(controls.widget.get("sensitive", as: Bool.self))
            pump("a later frame") { gtk_range_get_value(controls.slider.as()) > 1 }
            XCTAssertTrue(player.isPlaying, "following is no scrubbing")
            controls.scrub(to: 1)
            XCTAssertFalse(player.isPlaying)
            pump("the frame of the slider") { player.currentFrameIndex == 1 }
            exhibit.modeMenu.set("selected", 1)
            controls.rateMenu.set("selected", AnimationControls.rates.firstIndex(of: 4) ?? 0)
            XCTAssertEqual(player.configuration.mode, .reverse)
            XCTAssertEqual(player.configuration.rate, 4)
            controls.togglePlay()
            XCTAssertTrue(player.isPlaying)
            controls.togglePlay()
            XCTAssertFalse(player.isPlaying)
        }
    }
}

extension ProcessorRow {
    fileprivate var containsFocus: Bool {
        gtk_widget_get_root(widget.widget).flatMap { gtk_root_get_focus($0) }
            .map { $0 == widget.widget || gtk_widget_is_ancestor($0, widget.widget) != 0 } ?? false
    }
}

extension LearnPage {
    /// Whether the window's focus is on a widget of the page.
    fileprivate func containsFocus(of window: TestWindow) -> Bool {
        guard let focus = gtk_window_get_focus(window.asWindow) else { return false }
        return gtk_widget_is_ancestor(focus, widget.widget) != 0
    }
}
