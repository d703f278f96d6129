import CWebImageGTK
import FoundationEssentials
import WebImageTestSupport
import XCTest

@testable import GTKTestSupport
@testable import WebImage
@testable import WebImageGTK

/// The same URL set again with other settings: the table in the guide Views.
final class SameURLTests: GTKTestCase {
    /// A setting that the second request has, and the first has not.
    private struct Setting {
        let name: String
        /// What becomes of a load in progress.
        let load: Load
        /// What answers if the image is on display.
        let answer: Answer
        private let change: @MainActor (inout WebImageRequest, ManualLoader) -> Void

        init(
            _ name: String, _ load: Load, _ answer: Answer,
            _ change: @escaping @MainActor (inout WebImageRequest) -> Void
        ) {
            self.init(name, load, answer) { request, _ in change(&request) }
        }

        init(
            _ name: String, _ load: Load, _ answer: Answer,
            _ change: @escaping @MainActor (inout WebImageRequest, ManualLoader) -> Void
        ) {
            (self.name, self.load, self.answer, self.change) = (name, load, answer, change)
        }

        /// - Parameter loader: the manager's.
        @MainActor func apply(to request: inout WebImageRequest, _ loader: ManualLoader) { change(&request, loader) }
    }

    private enum Load { case goesOn, sharesTransfer, loadsAnew }

    private enum Answer {
        case display
        /// A load, while the image stays on display.
        case load
        /// A load of another image.
        case otherImage
    }

    private struct Identity: Hashable {}

    @MainActor private static let settings: [Setting] = [
        Setting("nothing", .goesOn, .display) { _ in },
        Setting("priority", .goesOn, .display) { $0.priority = .veryHigh },
        Setting("progressive", .sharesTransfer, .display) { $0.options = .progressive },
        Setting("progressiveBlur", .sharesTransfer, .display) { $0.options = .progressiveBlur },
        Setting("progressiveThumbnail", .sharesTransfer, .display) { $0.options = .progressiveThumbnail },
        Setting("waitForStore", .sharesTransfer, .load) { $0.options = .waitForStore },
        Setting("queryMemoryData", .sharesTransfer, .load) { $0.options = .queryMemoryData },
        Setting("queryDiskSync", .sharesTransfer, .display) { $0.options = .queryDiskSync },
        Setting("ignoreDecoding", .sharesTransfer, .otherImage) { $0.options = .ignoreDecoding },
        Setting("avoidForcedDecode", .sharesTransfer, .display) { $0.options = .avoidForcedDecode },
        Setting("firstFrameOnly", .sharesTransfer, .otherImage) { $0.options = .firstFrameOnly },
        Setting("preloadAllFrames", .sharesTransfer, .otherImage) { $0.options = .preloadAllFrames },
        Setting("matchAnimatedKind", .sharesTransfer, .load) { $0.options = .matchAnimatedKind },
        Setting("showNetworkActivity", .sharesTransfer, .display) { $0.options = .showNetworkActivity },
        Setting("continueInBackground", .sharesTransfer, .display) { $0.options = .continueInBackground },
        Setting("thumbnail", .sharesTransfer, .otherImage) { $0.thumbnail = Thumbnail(.pixels(width: 2, height: 2)) },
        Setting("scale", .sharesTransfer, .otherImage) { $0.scale = 2 },
        Setting("processors", .sharesTransfer, .otherImage) { $0.processors = [.grayscale()] },
        Setting("keepsPixels", .sharesTransfer, .display) { $0.keepsPixels = false },
        Setting("cachePolicy http", .loadsAnew, .load) { $0.cachePolicy = .http },
        Setting("cachePolicy refresh", .loadsAnew, .load) { $0.cachePolicy = .refresh },
        Setting("cachePolicy reload", .loadsAnew, .otherImage) { $0.cachePolicy = .reload },
        Setting("cachePolicy cacheOnly", .loadsAnew, .display) { $0.cachePolicy = .cacheOnly },
        Setting("cachePolicy offline", .loadsAnew, .display) { $0.cachePolicy = .offline },
        Setting("headers", .loadsAnew, .load) { $0.headers = ["Accept-Language": "de"] },
        Setting("secret headers", .loadsAnew, .otherImage) { $0.headers = ["Authorization": "Bearer x"] },
        Setting("harmlessHeaders", .sharesTransfer, .display) { $0.harmlessHeaders = .standard },
        Setting("credential", .loadsAnew, .otherImage) { $0.credential = Credential(username: "a", password: "b") },
        Setting("handlesCookies", .loadsAnew, .otherImage) { $0.handlesCookies = true },
        Setting("usesCredentialStorage", .loadsAnew, .otherImage) { $0.usesCredentialStorage = true },
        Setting("allowsInvalidCertificates", .loadsAnew, .otherImage) { $0.allowsInvalidCertificates = true },
        Setting("respectsBlockList", .sharesTransfer, .display) { $0.respectsBlockList = true },
        Setting("idleTimeout", .sharesTransfer, .display) { $0.idleTimeout = .seconds(9) },
        Setting("totalTimeout", .sharesTransfer, .display) { $0.totalTimeout = .seconds(9) },
        Setting("retryPolicy", .loadsAnew, .display) { $0.retryPolicy = RetryPolicy(maximumAttempts: 3) },
        Setting("alternatives", .loadsAnew, .display) { $0.alternatives = [$0.url.appending(path: "other")] },
        Setting("waitsForConnectivity", .loadsAnew, .display) { $0.waitsForConnectivity = true },
        Setting("lowResolutionURL", .sharesTransfer, .display) { $0.lowResolutionURL = $0.url.appending(path: "low") },
        Setting("lowDataURL", .sharesTransfer, .display) { $0.lowDataURL = $0.url.appending(path: "low") },
        Setting("cache", .loadsAnew, .load) {
            $0.cache = ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil)
        },
        Setting("originalCache", .loadsAnew, .load) {
            $0.originalCache = ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil)
        },
        // Another list, although with the same loader.
        Setting("loaders", .loadsAnew, .load) { request, loader in request.loaders = [loader] },
        Setting("codecs", .loadsAnew, .load) { $0.codecs = CodecRegistry(decoders: [SwatchDecoder()], encoders: []) },
        Setting("userInfo", .sharesTransfer, .display) { $0.userInfo = ["row": 7] },
        Setting("cacheAccess to store", .sharesTransfer, .display) {
            $0.cacheAccess = CacheAccess(query: .all, store: .all)
        },
        Setting("cacheAccess without memory", .sharesTransfer, .load) { $0.cacheAccess = .none },
        Setting("originalCacheAccess", .sharesTransfer, .display) { $0.originalCacheAccess = .none },
        Setting("cacheKeyFilter", .loadsAnew, .otherImage) { $0.cacheKeyFilter = { "key of \($0)" } },
        Setting("serializer", .sharesTransfer, .display) { $0.serializer = { _, data, _ in data } },
        Setting("decodingLimits", .sharesTransfer, .display) { $0.decodingLimits = .server },
        Setting("decodedByteLimit", .sharesTransfer, .otherImage) { $0.decodedByteLimit = 4000 },
        Setting("page", .sharesTransfer, .otherImage) { $0.page = 0 },
        Setting("allowsDamage", .sharesTransfer, .load) { $0.allowsDamage = true },
        Setting("transformsAnimations", .sharesTransfer, .display) { $0.transformsAnimations = false },
        Setting("transformsVectors", .sharesTransfer, .display) { $0.transformsVectors = false },
    ]

    // MARK: While loading

    func testALoadInProgressGetsEachNewSetting() throws {
        try MainActor.assumeIsolated {
            // Without a loader, it ends at once.
            for setting in Self.settings where setting.name != "cachePolicy cacheOnly" {
                let (fixture, picture) = (PictureFixture(), WebPicture())
                let plain = WebImageRequest(try fixture.url("red"))
                var request = plain
                setting.apply(to: &request, fixture.loader)
                let (first, second) = (Outcomes(), Outcomes())
                picture.setImage(plain, manager: fixture.manager, completion: { first.append($0) })
                let operation = picture.imageSlot.phase.operation
                fixture.loader.loads.first?.begin(expectedByteCount: 5)
                pump("progress of the first") { picture.loadState == .loading(received: 0, expected: 5) }
                picture.setImage(request, manager: fixture.manager, completion: { second.append($0) })
                let now = try XCTUnwrap(picture.imageSlot.phase.operation)
                XCTAssertEqual(now === operation, setting.load == .goesOn, setting.name)
                if setting.load == .goesOn {
                    // Off screen.
                    XCTAssertEqual(now.priority, .low)
                } else {
                    if request.keepsPixels == nil { request.keepsPixels = true }
                    XCTAssertTrue(now.request.isLoaded(like: request), setting.name)
                }
                pump("the end of the first: \(setting.name)") { first.errors == [.cancelled] }
                let own = fixture.loader.loads.filter { $0.url == plain.url }
                XCTAssertEqual(own.count, setting.load == .loadsAnew ? 2 : 1, setting.name)
                if setting.load == .loadsAnew {
                    pump("the end of the first transfer: \(setting.name)") { own.first?.isCancelled == true }
                } else {
                    XCTAssertEqual(
                        picture.loadState, .loading(received: 0, expected: 5), "the transfer goes on: \(setting.name)")
                    XCTAssertEqual(own.first?.isCancelled, false, setting.name)
                }
                if setting.load == .loadsAnew { own.last?.begin(expectedByteCount: 5) }
                own.last?.send(Swatch.red.data)
                own.last?.end()
                pump("the end of the second: \(setting.name)") { second.results.count == 1 }
                XCTAssertEqual(second.successCount, 1, setting.name)
                XCTAssertEqual(first.results.count, 1, setting.name)
                destroyUnparented(picture)
            }
        }
    }

    /// As a cell of a grid that moves out of sight with a layout, gets another size, and moves back.
    func testATransferGoesOnWhileTheNewRequestWaitsForItsPlace() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            picture.loading = .lazy
            window.add(picture.widget)
            window.present()
            var request = WebImageRequest(try fixture.url("red"))
            request.thumbnail = Thumbnail(.pixels(width: 2, height: 2))
            let outcomes = Outcomes()
            picture.setImage(request, manager: fixture.manager, completion: { outcomes.append($0) })
            pump("the load") { fixture.loader.loads.count == 1 }
            gtk_widget_set_visible(picture.widget, 0)
            for pixels in 3...4 {
                request.thumbnail = Thumbnail(.pixels(width: pixels, height: pixels))
                picture.setImage(request, manager: fixture.manager, completion: { outcomes.append($0) })
                XCTAssertTrue(picture.imageSlot.isWaitingForPlace)
            }
            pumpUntilIdle()
            XCTAssertEqual(fixture.loader.loads.first?.isCancelled, false)
            gtk_widget_set_visible(picture.widget, 1)
            pump("the load that joins") { picture.imageSlot.phase.operation != nil }
            fixture.loader.loads.first?.answer(.red)
            pump("the image") { outcomes.successCount == 1 }
            XCTAssertEqual(fixture.loader.loads.count, 1)
            XCTAssertEqual(outcomes.errors, [.cancelled, .cancelled])
        }
    }

    func testPreviewsStartWithTheBytesThatHaveArrived() throws {
        try MainActor.assumeIsolated {
            let (fixture, view) = (PictureFixture(decodesPNG: true) { $0.previewInterval = .zero }, WebPicture())
            let url = try fixture.url("photo")
            let file = try CodecRegistry.shared.encode(
                try picture(96, 96) { x, y in SIMD4(UInt8(x), UInt8(y), 9, 255) }, as: .jpeg,
                options: EncodingOptions(isProgressive: true))
            view.setImage(url, manager: fixture.manager)
            let load = try XCTUnwrap(fixture.loader.loads.first)
            load.begin(expectedByteCount: Int64(file.count))
            load.send(file.prefix(file.count * 7 / 10))
            pump("the bytes") { (view.loadState.fraction ?? 0) > 0.5 }
            XCTAssertNil(view.image)
            var previews = 0
            view.setImage(
                url, loadOptions: .progressive, manager: fixture.manager, preview: { _ in previews += 1 })
            pump("a preview") { previews > 0 }
            XCTAssertEqual(view.image?.isPartial, true)
            // It stays while the request changes again.
            view.setImage(
                url, placeholder: .color(.white), loadOptions: [.progressive, .waitForStore], manager: fixture.manager)
            XCTAssertEqual(view.image?.isPartial, true)
            load.send(file.dropFirst(file.count * 7 / 10))
            load.end()
            pump("the image") { view.loadState == .loaded(.remote) }
            XCTAssertEqual(view.image?.isPartial, false)
            XCTAssertEqual(fixture.loader.loads.count, 1)
            destroyUnparented(view)
        }
    }

    func testAWaitForTheStoreIsNotForgotten() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (try StoredFixture(), WebPicture())
            defer { end(fixture.manager) }
            picture.setImage(fixture.url, manager: fixture.manager)
            var isStored: Bool?
            let key = WebImageRequest(fixture.url).cacheKey.description
            picture.setImage(
                fixture.url, loadOptions: .waitForStore, manager: fixture.manager,
                completion: { _ in isStored = fixture.isOnDisk(key) })
            fixture.answer(.red)
            pump("the end") { isStored != nil }
            XCTAssertEqual(isStored, true)
            XCTAssertEqual(fixture.loader.loads.count, 1)
            destroyUnparented(picture)
        }
    }

    func testARetryPolicyRetries() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager)
            var request = WebImageRequest(url)
            request.retryPolicy = RetryPolicy(maximumAttempts: 2, initialBackoff: .zero)
            picture.setImage(request, manager: fixture.manager)
            pump("the second transfer") { fixture.loader.loads.count == 2 }
            fixture.loader.loads.last?.end(.failure(.transport(code: 56, message: "reset", url: url)))
            pump("the third") { fixture.loader.loads.count == 3 }
            fixture.loader.loads.last?.answer(.red)
            pump("the image") { picture.loadState == .loaded(.remote) }
            destroyUnparented(picture)
        }
    }

    func testAPlaceholderReplacesTheOneOnDisplayAndNoneLeavesIt() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.url("red")
            for options in [WebImageOptions(), .progressive] {
                picture.setImage(url, placeholder: .image(try Swatch.green.image()), manager: fixture.manager)
                picture.setImage(url, loadOptions: options, manager: fixture.manager)
                XCTAssertEqual(drawnPixel(of: picture), Swatch.green.pixel)
                picture.setImage(
                    url, placeholder: .image(try Swatch.blue.image()), loadOptions: options, manager: fixture.manager)
                XCTAssertEqual(drawnPixel(of: picture), Swatch.blue.pixel)
                picture.prepareForReuse()
            }
            destroyUnparented(picture)
        }
    }

    func testALoadThatIsToBeLeftRunningCallsItsHandler() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.url("red")
            let (first, second) = (Outcomes(), Outcomes())
            picture.setImage(url, manager: fixture.manager, completion: { first.append($0) })
            picture.setImage(
                url, options: .avoidAutoCancel, manager: fixture.manager, completion: { second.append($0) })
            fixture.loader.loads.first?.answer(.red)
            pump("both ends") { first.successCount == 1 && second.successCount == 1 }
            XCTAssertEqual(fixture.loader.loads.count, 1)
            destroyUnparented(picture)
        }
    }

    func testALoadOfAnotherManagerIsNotContinued() throws {
        try MainActor.assumeIsolated {
            let (first, second, picture) = (PictureFixture(), PictureFixture(), WebPicture())
            let url = try first.url("red")
            picture.setImage(url, manager: first.manager)
            first.loader.loads.first?.begin(expectedByteCount: 5)
            pump("progress of the first") { picture.loadState == .loading(received: 0, expected: 5) }
            picture.setImage(url, manager: second.manager)
            XCTAssertEqual(picture.loadState, .loading(received: 0, expected: nil))
            pump("the end of the first transfer") { first.loader.loads.first?.isCancelled == true }
            second.loader.loads.first?.answer(.red)
            pump("the image") { picture.loadState == .loaded(.remote) }
            destroyUnparented(picture)
        }
    }

    // MARK: On display

    func testAnImageOnDisplayAnswersUnlessASettingNeedsALoad() throws {
        try MainActor.assumeIsolated {
            for setting in Self.settings {
                let (fixture, picture) = (PictureFixture(), WebPicture())
                let plain = WebImageRequest(try fixture.url("red"))
                var request = plain
                setting.apply(to: &request, fixture.loader)
                picture.setImage(plain, manager: fixture.manager)
                fixture.loader.loads.first?.answer(.red)
                pump("the image") { picture.image != nil }
                fixture.cache.memory.removeAll()
                let outcomes = Outcomes()
                picture.setImage(request, manager: fixture.manager, completion: { outcomes.append($0) })
                XCTAssertEqual(outcomes.successCount, setting.answer == .display ? 1 : 0, setting.name)
                XCTAssertEqual(picture.image == nil, setting.answer == .otherImage, setting.name)
                if setting.answer == .display {
                    let response = try XCTUnwrap(outcomes.results.first).get()
                    XCTAssertEqual(response.origin, .memoryCacheFast, setting.name)
                    XCTAssertEqual(response.userInfo["row"] as? Int, request.userInfo["row"] as? Int)
                    XCTAssertEqual(fixture.loader.loads.count, 1, setting.name)
                } else {
                    XCTAssertEqual(fixture.loader.loads.count, 2, setting.name)
                    fixture.loader.loads.last?.answer(.green)
                    pump("the other image: \(setting.name)") { outcomes.results.count == 1 }
                    XCTAssertEqual(outcomes.successCount, 1, setting.name)
                }
                destroyUnparented(picture)
            }
        }
    }
}

/// Images that memory or disk have, and what their response says.
final class AnswerAtOnceTests: GTKTestCase {
    func testAnImageFromDiskSaysSoAndHasItsBytes() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (try StoredFixture(), WebPicture())
            defer { end(fixture.manager) }
            fixture.disk.store(Swatch.red.data, for: WebImageRequest(fixture.url).cacheKey.description)
            var response: WebImageResponse?
            var request = WebImageRequest(fixture.url, options: .queryDiskSync)
            request.userInfo = ["row": 7]
            picture.setImage(request, manager: fixture.manager, completion: { response = try? $0.get() })
            XCTAssertEqual(response?.origin, .diskCache)
            XCTAssertEqual(response?.data, Swatch.red.data)
            XCTAssertEqual(response?.userInfo["row"] as? Int, 7)
            XCTAssertEqual(picture.loadState, .loaded(.diskCache))
            XCTAssertEqual(fixture.manager.counters.diskHits, 1)
            destroyUnparented(picture)
        }
    }

    func testAnImageFromMemoryIsShownAtOnceAndHasItsBytes() throws {
        for isBlocking in [true, false] {
            try MainActor.assumeIsolated {
                let (fixture, picture) = (try StoredFixture(), WebPicture())
                defer { end(fixture.manager) }
                try fixture.load(.red)
                let hits = fixture.cache.memory.statistics.hitCount
                var response: WebImageResponse?
                picture.setImage(
                    fixture.url, placeholder: .color(.white),
                    loadOptions: isBlocking ? [.queryMemoryData, .queryDiskSync] : .queryMemoryData,
                    manager: fixture.manager, completion: { response = try? $0.get() })
                XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
                XCTAssertEqual(response != nil, isBlocking)
                pump("the end") { response != nil }
                XCTAssertEqual(response?.data, Swatch.red.data)
                XCTAssertEqual(response?.origin, isBlocking ? .memoryCacheFast : .memoryCache)
                XCTAssertEqual(picture.loadState, .loaded(isBlocking ? .memoryCacheFast : .memoryCache))
                // It counts once.
                XCTAssertEqual(fixture.cache.memory.statistics.hitCount, hits + 1)
                XCTAssertEqual(fixture.manager.counters.memoryHits, 1)
                // Also for the image on display.
                response = nil
                picture.setImage(
                    fixture.url, loadOptions: .queryMemoryData, manager: fixture.manager,
                    completion: { response = try? $0.get() })
                XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
                pump("the end") { response != nil }
                XCTAssertEqual(response?.data, Swatch.red.data)
                destroyUnparented(picture)
            }
        }
    }

    func testAPlainRequestForAnImageInMemoryHasNoBytes() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (try StoredFixture(), WebPicture())
            defer { end(fixture.manager) }
            try fixture.load(.red)
            var response: WebImageResponse?
            picture.setImage(fixture.url, manager: fixture.manager, completion: { response = try? $0.get() })
            XCTAssertEqual(response?.origin, .memoryCacheFast)
            XCTAssertNil(response?.data)
            destroyUnparented(picture)
        }
    }

    func testDisplayIsLeftToTheHandlerAlsoWithBytes() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (try StoredFixture(), WebPicture())
            defer { end(fixture.manager) }
            try fixture.load(.red)
            var response: WebImageResponse?
            picture.setImage(
                fixture.url, options: .avoidSettingImage, loadOptions: .queryMemoryData, manager: fixture.manager,
                completion: { response = try? $0.get() })
            pump("the end") { response != nil }
            XCTAssertEqual(response?.data, Swatch.red.data)
            XCTAssertNil(picture.image)
            destroyUnparented(picture)
        }
    }
}

/// A manager with a disk cache, whose loader the test answers for.
@MainActor private final class StoredFixture {
    let loader = ManualLoader(isCacheable: true)
    let cache: ImageCache
    let disk: DiskCache
    let manager: WebImageManager
    let url: URL
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        disk = DiskCache(configuration: DiskCache.Configuration(directory: directory.url("cache")))
        cache = ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: disk)
        manager = WebImageManager(
            configuration: WebImageManager.Configuration(
                cache: cache, loaders: [loader], codecs: CodecRegistry(decoders: [SwatchDecoder()], encoders: [])))
        url = try XCTUnwrap(URL(string: "manual://host/red"))
    }

    /// Whether another process would find the key.
    func isOnDisk(_ key: String) -> Bool {
        DiskCache(configuration: disk.configuration).blockingContains(key)
    }

    /// Answers the first load, which follows a look at the disk.
    func answer(_ swatch: Swatch) {
        pump("the request") { !loader.loads.isEmpty }
        loader.loads.first?.answer(swatch)
    }

    /// Fills memory and disk.
    func load(_ swatch: Swatch) throws {
        var isStored = false
        manager.load(WebImageRequest(url, options: .waitForStore), callbackQueue: ApplyQueue.main) { _ in
            MainActor.assumeIsolated { isStored = true }
        }
        answer(swatch)
        pump("the store") { isStored }
    }
}
