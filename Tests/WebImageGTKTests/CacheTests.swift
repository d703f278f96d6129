import CWebImageGTK
import WebImageTestSupport
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK
@testable import WebImage
@testable import WebImageCaching

/// Views with a manager whose cache is custom, or a group.
final class CustomCacheViewTests: GTKTestCase {
    func testA304ConfirmsWhatACustomCacheStores() throws {
        try MainActor.assumeIsolated {
            let (scene, cache) = (Scene(), DictionaryCache())
            defer { scene.window.close() }
            let (manager, picture) = (scene.manager(with: cache), scene.addPicture())
            let request = WebImageRequest(try scene.url("a"), options: .waitForStore, cachePolicy: .http)
            let headers = ["ETag": "\"1\"", "Cache-Control": "no-cache"]
            scene.load(request, in: picture, manager) { $0.answer(.red, headers: headers) }
            XCTAssertEqual(picture.loadState, .loaded(.remote))
            XCTAssertEqual(cache.storedKeys.count, 1)
            for number in 2...3 {
                cache.removeImages()
                picture.prepareForReuse()
                scene.load(request, in: picture, manager) { load in
                    XCTAssertEqual(load.request.headers["If-None-Match"], "\"1\"")
                    load.confirm(headers: headers)
                }
                XCTAssertEqual(scene.loader.loads.count, number)
                XCTAssertEqual(picture.loadState, .loaded(.diskCache))
                XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            }
        }
    }

    func testImagesOnScreenAreFoundAfterTheirEviction() throws {
        try MainActor.assumeIsolated {
            let (scene, cache) = (Scene(), ImageCache(disk: nil))
            defer { scene.window.close() }
            let (manager, request) = (scene.manager(with: cache), WebImageRequest(try scene.url("a")))
            let picture = scene.addPicture()
            scene.load(request, in: picture, manager) { $0.answer(.red, headers: [:]) }
            cache.memory.trim(toCost: 0)
            XCTAssertEqual(cache.memory.count, 0)
            let other = scene.addPicture()
            scene.load(request, in: other, manager)
            XCTAssertEqual(other.loadState, .loaded(.memoryCacheFast))
            XCTAssertEqual(scene.loader.loads.count, 1)
        }
    }

    func testACustomCacheSeparatesVaryingResponses() throws {
        try MainActor.assumeIsolated {
            let (scene, cache) = (Scene(), DictionaryCache())
            defer { scene.window.close() }
            let manager = scene.manager(with: cache)
            let url = try scene.url("a")
            let languages: [(name: String, swatch: Swatch)] = [("en", .red), ("de", .blue)]
            func request(_ language: String) -> WebImageRequest {
                WebImageRequest(
                    url, options: .waitForStore, cachePolicy: .http, headers: ["Accept-Language": language])
            }
            for (language, swatch) in languages {
                scene.load(request(language), in: scene.addPicture(), manager) {
                    $0.answer(swatch, headers: ["Vary": "Accept-Language", "Cache-Control": "max-age=60"])
                }
            }
            cache.removeImages()
            for (language, swatch) in languages {
                let picture = scene.addPicture()
                scene.load(request(language), in: picture, manager)
                XCTAssertEqual(picture.loadState, .loaded(.diskCache), language)
                XCTAssertEqual(drawnPixel(of: picture), swatch.pixel, language)
            }
            XCTAssertEqual(scene.loader.loads.count, 2)
        }
    }

    func testAGroupOfTwoCachesServesViews() throws {
        try MainActor.assumeIsolated {
            let (scene, custom) = (Scene(), DictionaryCache())
            defer { scene.window.close() }
            let memory = ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil)
            let manager = scene.manager(with: ImageCacheGroup([memory, custom]))
            let (stored, loaded) = (try scene.url("stored"), try scene.url("loaded"))
            memory.memory.set(try Swatch.green.image(), for: WebImageRequest(stored).cacheKey, cost: 1)
            let picture = scene.addPicture()
            picture.setImage(stored, manager: manager)
            XCTAssertEqual(picture.loadState, .loaded(.memoryCacheFast))
            XCTAssertEqual(drawnPixel(of: picture), Swatch.green.pixel)

            let request = WebImageRequest(loaded, options: .waitForStore)
            scene.load(request, in: picture, manager) { $0.answer(.red) }
            XCTAssertEqual(custom.storedKeys, [request.cacheKey.description])
            custom.removeImages()
            picture.prepareForReuse()
            scene.load(request, in: picture, manager)
            XCTAssertEqual(picture.loadState, .loaded(.diskCache))
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            XCTAssertEqual(scene.loader.loads.count, 1)
        }
    }

    func testAThumbnailIsShownAgainWithoutDecoding() throws {
        try MainActor.assumeIsolated {
            let (scene, directory) = (Scene(), try TemporaryDirectory())
            defer { scene.window.close() }
            let cache = ImageCache(
                memory: MemoryCache(costLimit: 1 << 20),
                disk: DiskCache(configuration: DiskCache.Configuration(directory: directory.url("cache"))))
            defer { end(scene.manager(with: cache)) }
            let thumbnail = Thumbnail(.pixels(width: 2, height: 1))
            let request = WebImageRequest(try scene.url("a"), options: .waitForStore, thumbnail: thumbnail)
            let picture = scene.addPicture()
            scene.load(request, in: picture, scene.manager(with: cache)) { $0.answer(.red) }
            cache.blockingFlushPixels()
            cache.memory.removeAll()
            picture.prepareForReuse()
            // A manager that decodes nothing.
            let manager = PictureFixture {
                $0.cache = cache
                $0.loaders = [scene.loader]
                $0.codecs = CodecRegistry(decoders: [], encoders: [])
            }.manager
            scene.load(request, in: picture, manager)
            XCTAssertEqual(picture.loadState, .loaded(.diskCache))
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            XCTAssertEqual(scene.loader.loads.count, 1)
        }
    }
}

/// A window, and a loader whose bytes are cached.
@MainActor private struct Scene {
    let loader = ManualLoader(isCacheable: true)
    let window = TestWindow()

    func url(_ name: String) throws -> URL { try XCTUnwrap(URL(string: "manual://host/\(name)")) }

    func manager(with cache: any ImageCaching) -> WebImageManager {
        PictureFixture {
            $0.cache = cache
            $0.loaders = [loader]
        }.manager
    }

    func addPicture() -> WebPicture {
        let picture = WebPicture()
        window.show(picture)
        return picture
    }

    /// Shows the image of `request`, and waits for the end.
    ///
    /// - Parameter answer: answers the load; `nil` if the cache should serve the request.
    func load(
        _ request: WebImageRequest, in picture: WebPicture, _ manager: WebImageManager,
        answer: ((ManualLoad) -> Void)? = nil
    ) {
        let (outcomes, loadCount) = (Outcomes(), loader.loads.count)
        picture.setImage(request, manager: manager) { outcomes.append($0) }
        if let answer {
            pump("the load") { loader.loads.count > loadCount }
            loader.loads.last.map(answer)
        }
        pump("the completion") { !outcomes.results.isEmpty }
        XCTAssertEqual(outcomes.successCount, 1)
        pumpUntilIdle()
    }
}
