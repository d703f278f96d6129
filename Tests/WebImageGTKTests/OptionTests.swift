import CWebImageGTK
import FoundationEssentials
import GTKObjects
import WebImageTestSupport
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK
@testable import WebImage

final class PictureOptionsTests: GTKTestCase {
    func testShowsThePlaceholderWhileLoading() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let (first, second) = (try fixture.url("1"), try fixture.url("2"))
            try fixture.remember(.red, at: first)
            picture.setImage(first, manager: fixture.manager)
            picture.setImage(second, placeholder: .image(try Swatch.green.image()), manager: fixture.manager)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.green.pixel)
            XCTAssertNil(picture.image)
            picture.setImage(try fixture.url("3"), manager: fixture.manager)
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(0, 0, 0, 0))
            destroyUnparented(picture)
        }
    }

    func testABlurHashFillsTheViewWhateverTheContentMode() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            XCTAssertEqual(picture.contentMode, .scaleAspectFit)
            picture.fixedSize = PointSize(width: 60, height: 20)
            picture.setImage(
                try fixture.url("a"), placeholder: .blurHash("0009dg"), manager: fixture.manager)
            let drawing = Rendering(of: gtk_picture_get_paintable(picture.picture), width: 60, height: 20)
            for x in [0, 30, 59] { XCTAssertEqual(drawing[x, 10], Swatch.green.pixel) }
            picture.fixedSize = nil
            XCTAssertEqual(
                gdk_paintable_get_intrinsic_width(gtk_picture_get_paintable(picture.picture)), 0,
                "a hash has no size of its own")
            destroyUnparented(picture)
        }
    }

    func testShowsGeneratedPlaceholders() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.url("red")
            let green = try Swatch.green.image()
            // One component: green.
            picture.setImage(nil, placeholder: .blurHash("0009dg"), manager: fixture.manager)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.green.pixel)
            picture.setImage(nil, placeholder: .blurHash("no hash"), manager: fixture.manager)
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(0, 0, 0, 0))
            picture.setImage(url, placeholder: .blurHash("0009dg"), manager: fixture.manager)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.green.pixel)
            picture.setImage(
                try fixture.url("a"), placeholder: .closure { $0.url.lastPathComponent == "a" ? green : nil },
                manager: fixture.manager)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.green.pixel)

            picture.setImage(url, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { picture.image != nil }
            picture.setImage(
                url, placeholder: .cachedVariant, thumbnail: Thumbnail(.pixels(width: 2, height: 2)),
                manager: fixture.manager)
            XCTAssertNil(picture.image)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            destroyUnparented(picture)
        }
    }

    func testIgnorePlaceholderKeepsTheOldImage() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let (old, new) = (try fixture.url("old"), try fixture.url("new"))
            try fixture.remember(.red, at: old)
            picture.setImage(old, manager: fixture.manager)
            picture.setImage(new, placeholder: .color(.white), options: .ignorePlaceholder, manager: fixture.manager)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            fixture.loader.lastLoad(of: new)?.answer(.blue)
            pump("the new picture") { picture.loadState == .loaded(.remote) }
            XCTAssertEqual(drawnPixel(of: picture), Swatch.blue.pixel)
            destroyUnparented(picture)
        }
    }

    func testQueryDiskSyncShowsTheImageBeforeItReturns() throws {
        try MainActor.assumeIsolated {
            let directory = try TemporaryDirectory()
            let disk = DiskCache(configuration: DiskCache.Configuration(directory: directory.url("cache")))
            let loader = ManualLoader(isCacheable: true)
            let manager = WebImageManager(
                configuration: WebImageManager.Configuration(
                    cache: ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: disk), loaders: [loader],
                    codecs: CodecRegistry(decoders: [SwatchDecoder()], encoders: [])))
            guard let url = URL(string: "manual://host/red") else { return XCTFail("no URL") }
            disk.store(Swatch.red.data, for: WebImageRequest(url).cacheKey.description)
            defer { end(manager) }
            let picture = WebPicture()
            picture.setImage(url, placeholder: .color(.white), loadOptions: .queryDiskSync, manager: manager)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            XCTAssertTrue(loader.loads.isEmpty)
            destroyUnparented(picture)
        }
    }

    func testDelayPlaceholderShowsItAfterAFailure() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.url("gone")
            picture.setImage(url, placeholder: .color(.white), options: .delayPlaceholder, manager: fixture.manager)
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(0, 0, 0, 0))
            fixture.loader.lastLoad(of: url)?.end(.failure(.invalidResponse(reason: .emptyBody, url: url)))
            pump("the failure") { picture.loadState == .failed(.invalidResponse(reason: .emptyBody, url: url)) }
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(255, 255, 255, 255))
            destroyUnparented(picture)
        }
    }

    func testDelayPlaceholderShowsNoneAfterACancel() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let outcomes = Outcomes()
            picture.setImage(
                try fixture.url("a"), placeholder: .color(.white), options: .delayPlaceholder, manager: fixture.manager,
                completion: { outcomes.append($0) })
            fixture.manager.cancelAll()
            pump("the end") { outcomes.errors == [.cancelled] }
            XCTAssertEqual(picture.loadState, .idle)
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(0, 0, 0, 0))
            destroyUnparented(picture)
        }
    }

    func testIgnorePlaceholderTakesPrecedenceOverDelayPlaceholder() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let (old, gone) = (try fixture.url("old"), try fixture.url("gone"))
            try fixture.remember(.red, at: old)
            picture.setImage(old, manager: fixture.manager)
            picture.setImage(
                gone, placeholder: .color(.white), options: [.ignorePlaceholder, .delayPlaceholder],
                manager: fixture.manager)
            fixture.loader.lastLoad(of: gone)?.end(.failure(.invalidResponse(reason: .emptyBody, url: gone)))
            pump("the failure") { picture.loadState == .failed(.invalidResponse(reason: .emptyBody, url: gone)) }
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            destroyUnparented(picture)
        }
    }

    func testAvoidSettingImageFadesNothing() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let (known, loaded) = (try fixture.url("known"), try fixture.url("loaded"))
            try fixture.remember(.red, at: known)
            let outcomes = Outcomes()
            for url in [known, loaded] {
                picture.setImage(
                    url, options: [.avoidSettingImage, .fadeIn, .forceTransition, .waitTransition],
                    manager: fixture.manager, completion: { outcomes.append($0) })
                fixture.loader.lastLoad(of: url)?.answer(.blue)
            }
            pump("both ends") { outcomes.successCount == 2 }
            XCTAssertFalse(picture.imageSlot.isInTransition)
            XCTAssertNil(picture.image)
        }
    }

    func testAvoidSettingImageLeavesTheImageToTheCompletion() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.url("red")
            var delivered: Image?
            picture.setImage(
                url, placeholder: .image(try Swatch.green.image()), options: .avoidSettingImage,
                manager: fixture.manager, completion: { delivered = try? $0.get().image })
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { delivered != nil }
            XCTAssertEqual(delivered?.pixels[0, 0], Swatch.red.pixel)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.green.pixel)

            picture.setImage(url, manager: fixture.manager)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            destroyUnparented(picture)
        }
    }

    func testFadesInLoadedImages() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let url = try fixture.url("red")
            picture.setImage(url, options: .fadeIn, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { picture.image != nil }
            XCTAssertTrue(picture.imageSlot.isInTransition)
            pump("the end of the fade") { !picture.imageSlot.isInTransition }
            XCTAssertFalse(picture.imageSlot.isTicking)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
        }
    }

    func testShowsTheProcessedImage() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let url = try fixture.url("red")
            let processors: [ImageProcessor] = [.grayscale()]
            picture.setImage(url, processors: processors, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { picture.image != nil }
            let pixel = drawnPixel(of: picture)
            XCTAssertTrue(pixel.x == pixel.y && pixel.y == pixel.z && pixel.w == 255, "\(pixel) is no grey")
            XCTAssertEqual(picture.image?.isTransformed, true)
            // Without them it is another image.
            picture.setImage(url, manager: fixture.manager)
            XCTAssertEqual(fixture.loader.loads.count, 2)
        }
    }

    func testDoesNotFadeUnlessAsked() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { picture.image != nil }
            XCTAssertFalse(picture.imageSlot.isInTransition)
        }
    }

    func testFadesImagesFromMemoryOnlyWhenForced() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let (red, blue) = (try fixture.url("red"), try fixture.url("blue"))
            try fixture.remember(.red, at: red)
            try fixture.remember(.blue, at: blue)
            picture.setImage(red, options: .fadeIn, manager: fixture.manager)
            XCTAssertFalse(picture.imageSlot.isInTransition)
            picture.setImage(blue, options: [.fadeIn, .forceTransition], manager: fixture.manager)
            XCTAssertTrue(picture.imageSlot.isInTransition)
        }
    }

    func testDoesNotFadeWhenTheUserWantsNoAnimations() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            setAnimations(false)
            defer { setAnimations(true) }
            let url = try fixture.remembered(.red, as: "red")
            picture.setImage(url, options: [.fadeIn, .forceTransition], manager: fixture.manager)
            XCTAssertFalse(picture.imageSlot.isInTransition)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
        }
    }

    func testUnmappingEndsAFade() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let url = try fixture.remembered(.red, as: "red")
            picture.setImage(url, options: [.fadeIn, .forceTransition], manager: fixture.manager)
            XCTAssertTrue(picture.imageSlot.isInTransition)
            gtk_widget_set_visible(picture.widget, gboolean(0))
            XCTAssertFalse(picture.imageSlot.isInTransition)
            XCTAssertFalse(picture.imageSlot.isTicking)
        }
    }
}

/// Sets what the user wants of animations.
@MainActor func setAnimations(_ areEnabled: Bool) {
    var value = GValue()
    g_value_init(&value, g_type_from_name("gboolean"))
    g_value_set_boolean(&value, gboolean(areEnabled ? 1 : 0))
    g_object_set_property(ObjectPointer(gtk_settings_get_default()).object, "gtk-enable-animations", &value)
    g_value_unset(&value)
}

/// Images that a server is asked about again, from a real server.
final class RefreshedPictureTests: GTKTestCase {
    func testAnImageThatTheServerConfirmsIsNotSetAgain() throws {
        try MainActor.assumeIsolated {
            let scene = try Scene()
            defer { scene.close() }
            try scene.serve(.red)
            scene.load(.cacheFirst)
            XCTAssertEqual(scene.shown, [.nothing, .picture(Swatch.red.pixel)])
            // The same view, the same URL.
            scene.load(.refresh)
            XCTAssertEqual(scene.lastResponse?.isUnchanged, true)
            XCTAssertEqual(scene.shown.count, 2, "neither blanked nor set again")
            // A view that had something else meanwhile shows what is stored, once.
            scene.forget()
            scene.load(.refresh)
            XCTAssertEqual(scene.lastResponse?.isUnchanged, true)
            XCTAssertEqual(scene.shown, [.nothing, .picture(Swatch.red.pixel)])
        }
    }

    func testAChangedImageReplacesTheOldOne() throws {
        try MainActor.assumeIsolated {
            let scene = try Scene()
            defer { scene.close() }
            try scene.serve(.red)
            scene.load(.cacheFirst)
            try scene.serve(Swatch(red: 0, green: 0, blue: 255, width: 40))
            // Served from what is there, unless the policy says otherwise.
            scene.load(.cacheFirst)
            XCTAssertEqual(scene.shown.count, 2)
            scene.load(.refresh)
            XCTAssertEqual(scene.lastResponse?.isUnchanged, false)
            XCTAssertEqual(scene.shown, [.nothing, .picture(Swatch.red.pixel), .picture(Swatch.blue.pixel)])
            XCTAssertEqual(scene.slot.loadState, .loaded(.remote))
        }
    }

    func testAnUnreachableServerLeavesTheImage() throws {
        try MainActor.assumeIsolated {
            let scene = try Scene()
            defer { scene.close() }
            try scene.serve(.red)
            scene.load(.cacheFirst)
            scene.server.stop()
            scene.load(.refresh)
            XCTAssertNil(scene.lastResponse)
            guard case .failed = scene.slot.loadState else { return XCTFail("\(scene.slot.loadState)") }
            XCTAssertEqual(scene.shown.last, .picture(Swatch.red.pixel))
        }
    }
}

/// The images that a slot was given to show.
private enum Shown: Equatable {
    case nothing
    case picture(SIMD4<UInt8>)
}

/// A server with one image, and a slot that notes what it shows.
@MainActor private final class Scene {
    let server: NGINXServer
    let slot: ImageSlot
    private let box: Box
    private let directory: TemporaryDirectory
    private let cache: ImageCache
    private let manager: WebImageManager
    private let window = TestWindow()
    private(set) var lastResponse: WebImageResponse?

    private final class Box { var shown: [Shown] = [] }

    init() throws {
        server = try NGINXServer()
        directory = try TemporaryDirectory()
        let disk = DiskCache(
            configuration: DiskCache.Configuration(
                directory: URL(filePath: directory.path, directoryHint: .isDirectory)))
        cache = ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: disk)
        manager = WebImageManager(
            configuration: WebImageManager.Configuration(cache: cache, loaders: [ImageDownloader()]))
        let box = Box()
        self.box = box
        slot = ImageSlot(on: window.box) { image in
            box.shown.append(image.map { .picture($0.pixels[0, 0]) } ?? .nothing)
        }
    }

    func close() {
        window.close()
        end(manager)
    }

    var shown: [Shown] { box.shown }

    func serve(_ swatch: Swatch) throws {
        try server.write(CodecRegistry.shared.encode(swatch.image(), as: .png), to: "picture.png")
    }

    /// Sets the URL and waits for the end.
    func load(_ policy: CachePolicy) {
        guard let url = try? server.url("/picture.png") else { return XCTFail("no URL") }
        var isOver = false
        slot.setImage(
            WebImageRequest(url, cachePolicy: policy), manager: manager,
            completion: { [weak self] in
                self?.lastResponse = try? $0.get()
                isOver = true
            })
        pump("the end") { isOver }
    }

    /// As if the view had shown something else.
    func forget() {
        slot.prepareForReuse()
        cache.memory.removeAll()
        box.shown = []
    }
}
