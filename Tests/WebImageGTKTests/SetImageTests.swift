import CWebImageGTK
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK

/// The images that a view shows, in any order of events.
final class SetImageTests: GTKTestCase {
    func testShowsTheImageOfItsURL() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.add(picture.widget)
            let outcomes = Outcomes()
            let url = try fixture.url("red")
            picture.setImage(
                url, manager: fixture.manager,
                completion: {
                    XCTAssertTrue(Thread.isMainThread)
                    outcomes.append($0)
                })
            XCTAssertEqual(picture.imageURL, url)
            XCTAssertEqual(picture.loadState, .loading(received: 0, expected: nil))
            fixture.loader.lastLoad(of: url)?.answer(.red)
            XCTAssertNil(picture.image)
            pump("completion") { !outcomes.results.isEmpty }
            pumpUntilIdle()
            XCTAssertEqual(outcomes.successCount, 1)
            XCTAssertEqual(outcomes.results.count, 1)
            XCTAssertEqual(picture.loadState, .loaded(.remote))
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
        }
    }

    func testARequestCountsOnceWhetherMemoryHasItOrNot() throws {
        try MainActor.assumeIsolated {
            let (fixture, first, second) = (PictureFixture(), WebPicture(), WebPicture())
            let (url, outcomes) = (try fixture.url("red"), Outcomes())
            first.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the first completion") { outcomes.results.count == 1 }
            second.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })
            pump("the second completion") { outcomes.results.count == 2 }
            let (memory, counters) = (fixture.cache.memory.statistics, fixture.manager.counters)
            XCTAssertEqual([memory.hitCount, memory.missCount], [1, 1])
            XCTAssertEqual([counters.requests, counters.memoryHits, counters.loads], [2, 1, 1])
            XCTAssertEqual(counters.hitRate, 0.5)
        }
    }

    func testTheLastURLWinsWhenAnswersComeInReverse() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.add(picture.widget)
            let outcomes = Outcomes()
            var shown: [SIMD4<UInt8>] = []
            picture.onLoadStateChange = { _ in if let image = picture.image { shown.append(image.pixels[0, 0]) } }
            let urls = try (0..<50).map { try fixture.url("\($0)") }
            for url in urls { picture.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) }) }
            for (number, url) in urls.enumerated().reversed() {
                fixture.loader.lastLoad(of: url)?.answer(Swatch(red: UInt8(number), green: 0, blue: 0))
            }
            pump("50 completions") { outcomes.results.count == 50 }
            pumpUntilIdle()
            XCTAssertEqual(outcomes.results.count, 50)
            XCTAssertEqual(outcomes.successCount, 1)
            XCTAssertEqual(outcomes.errors, Array(repeating: .cancelled, count: 49))
            XCTAssertEqual(Set(shown), [SIMD4(49, 0, 0, 255)])
        }
    }

    func testAResultThatWaitsForTheMainLoopIsStaleOnceAnotherURLIsSet() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let (early, late) = (try fixture.url("early"), try fixture.url("late"))
            var states: [LoadState] = []
            picture.onLoadStateChange = { states.append($0) }
            picture.setImage(early, manager: fixture.manager)
            fixture.loader.lastLoad(of: early)?.answer(.red)
            // Decoded and on its way, but the loop has not turned yet.
            waitOffMain("the decode") { fixture.manager.cachedImage(for: WebImageRequest(early)) != nil }
            picture.setImage(late, manager: fixture.manager)
            pumpUntilIdle()
            XCTAssertNil(picture.image)
            XCTAssertFalse(states.contains(.loaded(.remote)))
            destroyUnparented(picture)
        }
    }

    func testAnImageInMemoryIsSetAtOnce() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.remembered(.red, as: "red")
            var origin: ImageOrigin?
            picture.setImage(
                url, options: .fadeIn, manager: fixture.manager, completion: { origin = try? $0.get().origin })
            XCTAssertEqual(origin, .memoryCacheFast)
            XCTAssertEqual(picture.loadState, .loaded(.memoryCacheFast))
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            XCTAssertFalse(picture.imageSlot.isInTransition)
            XCTAssertTrue(fixture.loader.loads.isEmpty)
            destroyUnparented(picture)
        }
    }

    func testNilClears() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.remembered(.red, as: "red")
            picture.setImage(url, manager: fixture.manager)
            picture.imageURL = nil
            XCTAssertNil(picture.image)
            XCTAssertNil(picture.imageURL)
            XCTAssertEqual(picture.loadState, .idle)
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(0, 0, 0, 0))
            picture.image = try Swatch.blue.image()
            XCTAssertEqual(drawnPixel(of: picture), Swatch.blue.pixel)
            picture.image = nil
            XCTAssertNil(picture.image)
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(0, 0, 0, 0))
            destroyUnparented(picture)
        }
    }

    func testNilCancelsAndCompletesWithInvalidURL() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let outcomes = Outcomes()
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })
            picture.setImage(nil, manager: fixture.manager, completion: { outcomes.append($0) })
            XCTAssertTrue(outcomes.results.isEmpty)
            pump("both completions") { outcomes.results.count == 2 }
            XCTAssertEqual(outcomes.errors, [.cancelled, .invalidURL("")])
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.isCancelled, true)
            destroyUnparented(picture)
        }
    }

    func testNilKeepsTheImageIfThePlaceholderIsIgnored() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.remembered(.red, as: "red")
            picture.setImage(url, manager: fixture.manager)
            let outcomes = Outcomes()
            picture.setImage(
                nil, placeholder: .color(.white), options: [.ignorePlaceholder, .delayPlaceholder],
                manager: fixture.manager, completion: { outcomes.append($0) })
            pump("the completion") { outcomes.errors == [.invalidURL("")] }
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            XCTAssertNotNil(picture.image)
            XCTAssertNil(picture.imageURL)
            XCTAssertEqual(picture.loadState, .idle)
            picture.setImage("no url at all", options: .ignorePlaceholder, manager: fixture.manager)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            picture.setImage(nil, manager: fixture.manager)
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(0, 0, 0, 0))
            destroyUnparented(picture)
        }
    }

    func testNilShowsADelayedPlaceholderWithItsCompletion() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let outcomes = Outcomes()
            picture.setImage(
                nil, placeholder: .color(.white), options: .delayPlaceholder, manager: fixture.manager,
                completion: {
                    XCTAssertEqual(drawnPixel(of: picture), SIMD4(255, 255, 255, 255))
                    outcomes.append($0)
                })
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(0, 0, 0, 0))
            pump("the completion") { !outcomes.results.isEmpty }
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(255, 255, 255, 255))

            // Never in place of what was set later.
            let url = try fixture.remembered(.red, as: "red")
            picture.setImage(nil, placeholder: .color(.white), options: .delayPlaceholder, manager: fixture.manager)
            picture.setImage(url, manager: fixture.manager)
            pumpUntilIdle()
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            destroyUnparented(picture)
        }
    }

    func testNilLeavesThePreviousLoadRunningIfAskedTo() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.url("red")
            let outcomes = Outcomes()
            picture.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })
            picture.setImage(nil, options: .avoidAutoCancel, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the completion") { outcomes.successCount == 1 }
            XCTAssertNil(picture.image)
            destroyUnparented(picture)
        }
    }

    func testTextThatIsNoURLFails() {
        MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let outcomes = Outcomes()
            picture.setImage(
                "no url at all", placeholder: .color(.white), manager: fixture.manager,
                completion: { outcomes.append($0) })
            XCTAssertEqual(picture.loadState, .failed(.invalidURL("no url at all")))
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(255, 255, 255, 255))
            pump("completion") { !outcomes.results.isEmpty }
            XCTAssertEqual(outcomes.errors, [.invalidURL("no url at all")])
            destroyUnparented(picture)
        }
    }

    func testTextThatIsAURLLoads() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            picture.setImage("manual://host/text", manager: fixture.manager)
            fixture.loader.loads.last?.answer(.green)
            pump("the image") { picture.image != nil }
            XCTAssertEqual(picture.imageURL, try fixture.url("text"))
            destroyUnparented(picture)
        }
    }

    func testTheSameURLNeitherBlanksNorReloads() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { picture.image != nil }
            fixture.cache.memory.removeAll()

            var changes = 0
            picture.onLoadStateChange = { _ in changes += 1 }
            let outcomes = Outcomes()
            picture.setImage(
                url, placeholder: .color(.white), manager: fixture.manager, completion: { outcomes.append($0) })
            XCTAssertEqual(outcomes.successCount, 1)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            pumpUntilIdle()
            XCTAssertEqual(changes, 0)
            XCTAssertEqual(fixture.loader.loads.count, 1)
            destroyUnparented(picture)
        }
    }

    func testTheSameURLAtAnotherSizeLoads() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.remembered(.red, as: "red")
            picture.setImage(url, manager: fixture.manager)
            picture.setImage(url, thumbnail: Thumbnail(.pixels(width: 2, height: 1)), manager: fixture.manager)
            XCTAssertEqual(fixture.loader.loads.count, 1)
            destroyUnparented(picture)
        }
    }

    func testTheSameURLInProgressIsJoined() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.url("red")
            let (first, second) = (Outcomes(), Outcomes())
            picture.setImage(url, manager: fixture.manager, completion: { first.append($0) })
            picture.setImage(url, manager: fixture.manager, completion: { second.append($0) })
            XCTAssertEqual(fixture.loader.loads.count, 1)
            XCTAssertEqual(fixture.loader.loads.first?.isCancelled, false)
            fixture.loader.loads.first?.answer(.red)
            pump("both completions") { first.results.count == 1 && second.results.count == 1 }
            pumpUntilIdle()
            XCTAssertEqual(first.errors, [.cancelled])
            XCTAssertEqual(second.successCount, 1)
            XCTAssertEqual(first.results.count + second.results.count, 2)
            destroyUnparented(picture)
        }
    }

    func testAnotherSizeOfTheSameURLSharesItsTransfer() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.url("red")
            let (first, second) = (Outcomes(), Outcomes())
            for (width, outcomes) in [(1, first), (2, second)] {
                picture.setImage(
                    url, thumbnail: Thumbnail(.pixels(width: width, height: width)), manager: fixture.manager,
                    completion: { outcomes.append($0) })
            }
            pump("the first completion") { first.results.count == 1 }
            fixture.loader.loads.first?.answer(.red)
            pump("the second completion") { second.results.count == 1 }
            XCTAssertEqual(first.errors, [.cancelled])
            XCTAssertEqual(second.successCount, 1)
            XCTAssertEqual(fixture.loader.loads.count, 1)
            XCTAssertEqual(fixture.loader.loads.first?.isCancelled, false)
            destroyUnparented(picture)
        }
    }

    func testAnotherSizeOfTheSameURLEndsTheFormerLoad() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager)
            picture.setImage(url, thumbnail: Thumbnail(.pixels(width: 2, height: 2)), manager: fixture.manager)
            picture.prepareForReuse()
            pump("the cancellation") { fixture.loader.loads.first?.isCancelled == true }
            XCTAssertEqual(fixture.loader.loads.count, 1)
            destroyUnparented(picture)
        }
    }

    func testReloadLoadsTheSameURLAgain() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.remembered(.red, as: "red")
            picture.setImage(url, manager: fixture.manager)
            picture.setImage(WebImageRequest(url, cachePolicy: .reload), manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.answer(.blue)
            pump("the new picture") { picture.loadState == .loaded(.remote) }
            XCTAssertEqual(drawnPixel(of: picture), Swatch.blue.pixel)
            destroyUnparented(picture)
        }
    }

    func testAFailureIsReportedAndTheSameURLLoadsAgain() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.url("gone")
            let outcomes = Outcomes()
            let error = WebImageError.httpStatus(code: 404, url: url)
            picture.setImage(
                url, placeholder: .image(try Swatch.green.image()), manager: fixture.manager,
                completion: { outcomes.append($0) })
            fixture.loader.lastLoad(of: url)?.end(.failure(error))
            pump("the failure") { !outcomes.results.isEmpty }
            XCTAssertEqual(outcomes.errors, [error])
            XCTAssertEqual(picture.loadState, .failed(error))
            XCTAssertEqual(drawnPixel(of: picture), Swatch.green.pixel)

            picture.setImage(url, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { picture.image != nil }
            XCTAssertEqual(fixture.loader.loads.count, 2)
            destroyUnparented(picture)
        }
    }

    func testReportsProgress() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.url("red")
            var reports: [Int64] = []
            picture.setImage(
                url, manager: fixture.manager,
                progress: { received, expected in
                    XCTAssertEqual(expected, 5)
                    reports.append(received)
                })
            let load = fixture.loader.lastLoad(of: url)
            load?.begin(expectedByteCount: 5)
            pump("the length") { picture.loadState == .loading(received: 0, expected: 5) }
            load?.send(Swatch.red.data.prefix(3))
            pump("three bytes") { picture.loadState == .loading(received: 3, expected: 5) }
            XCTAssertEqual(reports, [0, 3])
            destroyUnparented(picture)
        }
    }

    func testCancelKeepsWhatIsShown() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let outcomes = Outcomes()
            let url = try fixture.url("red")
            picture.setImage(
                url, placeholder: .image(try Swatch.green.image()), manager: fixture.manager,
                completion: { outcomes.append($0) })
            picture.cancelCurrentRequest()
            XCTAssertEqual(picture.loadState, .idle)
            pump("completion") { !outcomes.results.isEmpty }
            pumpUntilIdle()
            XCTAssertEqual(outcomes.errors, [.cancelled])
            XCTAssertEqual(outcomes.results.count, 1)
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.isCancelled, true)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.green.pixel)
            destroyUnparented(picture)
        }
    }

    func testCancelClearsTheURLUnlessItIsKept() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let (url, other) = (try fixture.url("red"), try fixture.url("other"))
            picture.setImage(url, manager: fixture.manager)
            picture.cancelCurrentRequest(keepsURL: true)
            XCTAssertEqual(picture.imageURL, url)
            picture.setImage(other, manager: fixture.manager)
            var urls: [URL?] = []
            picture.onLoadStateChange = { _ in urls.append(picture.imageURL) }
            picture.cancelCurrentRequest()
            XCTAssertNil(picture.imageURL)
            XCTAssertEqual(urls, [nil])
            XCTAssertEqual(fixture.loader.lastLoad(of: other)?.isCancelled, true)

            // An image that is there stays.
            try fixture.remember(.red, at: url)
            picture.setImage(url, manager: fixture.manager)
            picture.cancelCurrentRequest()
            XCTAssertNil(picture.imageURL)
            XCTAssertEqual(picture.loadState, .loaded(.memoryCacheFast))
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            destroyUnparented(picture)
        }
    }

    func testALoadCancelledByItsManagerIsNoFailure() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let outcomes = Outcomes()
            picture.setImage(try fixture.url("red"), manager: fixture.manager, completion: { outcomes.append($0) })
            fixture.manager.cancelAll()
            pump("completion") { !outcomes.results.isEmpty }
            XCTAssertEqual(outcomes.errors, [.cancelled])
            XCTAssertEqual(picture.loadState, .idle)
            destroyUnparented(picture)
        }
    }

    func testACacheOnlyLoadIsNotJoinedByOneThatUsesTheLoader() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.url("red")
            picture.setImage(WebImageRequest(url, cachePolicy: .cacheOnly), manager: fixture.manager)
            picture.setImage(url, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { picture.image != nil }
            destroyUnparented(picture)
        }
    }

    func testReleasesItsHandlersAtTheEnd() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.url("red")
            var outcomes: Outcomes? = Outcomes()
            weak let weakOutcomes = outcomes
            picture.setImage(
                url, manager: fixture.manager, completion: { [outcomes] in outcomes?.append($0) },
                progress: { [outcomes] _, _ in _ = outcomes })
            outcomes = nil
            XCTAssertNotNil(weakOutcomes)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the end of the handlers") { weakOutcomes == nil }
            XCTAssertNotNil(picture.image)
            destroyUnparented(picture)
        }
    }

    func testATrailingClosureIsTheCompletionHandler() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture, outcomes) = (PictureFixture(), WebPicture(), Outcomes())
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager) { result in outcomes.append(result) }
            picture.setImage(url.absoluteString, manager: fixture.manager) { outcomes.append($0) }
            picture.setImage(WebImageRequest(url), manager: fixture.manager) {
                outcomes.append($0)
            } progress: { _, _ in
            } preview: { _ in
            }
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("three completions") { outcomes.results.count == 3 }
            XCTAssertEqual(outcomes.successCount, 1)
            destroyUnparented(picture)
        }
    }

    func testReuseCancelsAndBlanks() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let url = try fixture.url("red")
            picture.setImage(url, placeholder: .color(.white), manager: fixture.manager)
            picture.prepareForReuse()
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.isCancelled, true)
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(0, 0, 0, 0))
            XCTAssertNil(picture.imageURL)
            destroyUnparented(picture)
        }
    }

    func testAnObserverMaySetAnotherURL() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let (broken, other) = (try fixture.url("broken"), try fixture.url("other"))
            try fixture.remember(.blue, at: other)
            let outcomes = Outcomes()
            picture.onLoadStateChange = { [weak picture] state in
                if case .failed = state { picture?.setImage(other, manager: fixture.manager) }
            }
            picture.setImage(broken, manager: fixture.manager, completion: { outcomes.append($0) })
            fixture.loader.lastLoad(of: broken)?.end(.failure(.invalidResponse(reason: .emptyBody, url: broken)))
            pump("the failure") { !outcomes.results.isEmpty }
            pumpUntilIdle()
            XCTAssertEqual(outcomes.errors, [.invalidResponse(reason: .emptyBody, url: broken)])
            XCTAssertEqual(outcomes.results.count, 1)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.blue.pixel)
            destroyUnparented(picture)
        }
    }
}
