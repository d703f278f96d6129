import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage
@testable import WebImageCore
@testable import WebImageLoading

/// When a load is tried again, and what of the failed attempts is seen. On a clock that the test moves.
@Suite(.timeLimit(.minutes(1))) struct RetryTests {
    private let picture = SolidPicture(7)

    @Test func eachAttemptFollowsItsBackoff() async throws {
        let fixture = try AttemptFixture()
        let operation = fixture.start()
        for (count, backoff) in [(1, Duration.milliseconds(500)), (2, .seconds(1)), (3, .seconds(2))] {
            try await fixture.nextLoad().end(.failure(fixture.reset()))
            #expect(
                operation.attempts.last == LoadAttempt(number: count + 1, url: fixture.url, wait: .backoff(backoff)))
            fixture.clock.advance(by: backoff - .nanoseconds(1))
            #expect(fixture.loadCount == count)
            fixture.clock.advance(by: .nanoseconds(1))
            #expect(fixture.loadCount == count + 1)
        }
        try await fixture.nextLoad().answer(picture.png())
        let response = try await fixture.result().get()
        #expect(picture.matches(response.image))
        #expect(response.attempts.map(\.number) == [1, 2, 3, 4])
        #expect(response.attempts.map(\.error) == [fixture.reset(), fixture.reset(), fixture.reset(), nil])
        #expect(response.attempts.map(\.duration) == [.zero, .zero, .zero, .zero])
        #expect(operation.attempts == response.attempts)
        #expect(fixture.clock.pendingCallCount == 0)
    }

    @Test func aTransferThatAnotherCancelsIsNotRetried() async throws {
        struct Always: RetryStrategy {
            func delay(after failure: RetryFailure) -> Duration? { .zero }
        }
        let fixture = try AttemptFixture()
        fixture.start { $0.retryPolicy = Always() }
        try await fixture.nextLoad().end(.failure(.cancelled))
        try #require(fixture.loadCount == 1 && fixture.clock.pendingCallCount == 0)
        #expect(await fixture.error() == .cancelled)
    }

    @Test func theTraceExplainsEachRetry() async throws {
        let fixture = try AttemptFixture()
        let other = try ManagerFixture.url("other")
        fixture.start { $0.alternatives = [other] }
        try await fixture.nextLoad().end(.failure(fixture.reset()))
        fixture.clock.advance(by: .milliseconds(500))
        try await fixture.nextLoad().refuse(503, headers: [HTTPHeader(name: "Retry-After", value: "2")])
        fixture.clock.advance(by: .seconds(3))
        try await fixture.nextLoad().refuse(404)
        try await fixture.nextLoad().answer(picture.png())
        let retries = try await fixture.result().get().trace.entries.filter { $0.stage == .retry }
        let errors: [WebImageError] = [
            fixture.reset(), .httpStatus(code: 503, url: fixture.url), .httpStatus(code: 404, url: fixture.url),
        ]
        #expect(
            retries.map(\.message) == [
                "attempt 2 after a wait of 0.50 s; attempt 1: \(errors[0])",
                "attempt 3 after a wait of 3.00 s, as the server requested (Retry-After); attempt 2: \(errors[1])",
                "attempt 4 at \(other.absoluteString); attempt 3: \(errors[2])",
            ])
        #expect(retries.allSatisfy { $0.duration >= .zero })
    }

    @Test func anAttemptHasItsDuration() async throws {
        let fixture = try AttemptFixture()
        fixture.start()
        let load = try await fixture.nextLoad()
        fixture.clock.advance(by: .seconds(3))
        load.end(.failure(fixture.reset()))
        fixture.clock.advance(by: .seconds(1))
        let second = try await fixture.nextLoad()
        fixture.clock.advance(by: .seconds(2))
        try second.answer(picture.png())
        // It waited for half a second of the one.
        #expect(try await fixture.result().get().attempts.map(\.duration) == [.seconds(3), .seconds(2.5)])
    }

    @Test func endsWithTheErrorOfTheLastAttempt() async throws {
        let fixture = try AttemptFixture(policy: RetryPolicy(maximumAttempts: 2))
        let operation = fixture.start()
        try await fixture.nextLoad().end(.failure(.timedOut(after: .seconds(1), url: fixture.url)))
        fixture.clock.advance(by: .seconds(1))
        try await fixture.nextLoad().refuse(503)
        #expect(await fixture.error() == .httpStatus(code: 503, url: fixture.url))
        #expect(operation.attempts.count == 2 && operation.attempts.allSatisfy { $0.duration != nil })
        #expect(fixture.loadCount == 2 && fixture.clock.pendingCallCount == 0)
    }

    @Test func attemptsShareTheTotalTimeLimit() async throws {
        let fixture = try AttemptFixture(policy: RetryPolicy(maximumAttempts: 3))
        let other = try ManagerFixture.url("other")
        fixture.start { request in
            request.totalTimeout = .seconds(10)
            request.alternatives = [other]
        }
        var metrics = LoaderMetrics()
        for (backoff, usedTime) in [(Duration.seconds(1), Duration.zero), (.seconds(2), .seconds(4))] {
            let load = try await fixture.nextLoad()
            #expect(load.request.totalTimeout == .seconds(10) && load.request.usedTime == usedTime)
            metrics.activeDuration = .seconds(4)
            load.report(metrics)
            load.end(.failure(fixture.reset()))
            fixture.clock.advance(by: backoff)
        }
        let last = try await fixture.nextLoad()
        #expect(last.request.usedTime == .seconds(8))
        let error = WebImageError.timedOut(reason: .total, after: .seconds(10), url: fixture.url)
        last.end(.failure(error))
        #expect(await fixture.error() == error, "no further attempt, and no other URL")
    }

    @Test(arguments: [
        ("7", Duration.seconds(7.5)), ("Sun, 09 Sep 2001 01:46:49 GMT", .seconds(9.5)), ("0", .seconds(0.5)),
    ])
    func aServerIsLeftAloneAsLongAsItAsks(text: String, delay: Duration) async throws {
        let fixture = try AttemptFixture()
        let operation = fixture.start()
        try await fixture.nextLoad().refuse(429, headers: [HTTPHeader(name: "Retry-After", value: text)])
        #expect(operation.attempts.last?.wait == .retryAfter(delay))
        fixture.clock.advance(by: delay - .nanoseconds(1))
        #expect(fixture.loadCount == 1)
        fixture.clock.advance(by: .nanoseconds(1))
        try await fixture.nextLoad().answer(picture.png())
        _ = try await fixture.result().get()
    }

    @Test func aLongRetryAfterEndsTheAttempts() async throws {
        let fixture = try AttemptFixture()
        fixture.start()
        try await fixture.nextLoad().refuse(503, headers: [HTTPHeader(name: "Retry-After", value: "3600")])
        #expect(await fixture.error() == .httpStatus(code: 503, url: fixture.url))
        #expect(fixture.loadCount == 1)
    }

    @Test func permanentErrorsAreNotRetried() async throws {
        let url = try ManagerFixture.url("a")
        let errors: [WebImageError] = [
            .httpStatus(code: 404, url: url), .certificate(reason: .expired, url: url),
            .invalidResponse(reason: .bodyTooLong(byteCount: 2, limit: 1), url: url),
            .blocked(reason: .host("h"), url: url),
        ]
        for error in errors {
            let fixture = try AttemptFixture()
            fixture.start()
            try await fixture.nextLoad().end(.failure(error))
            #expect(await fixture.error() == error)
            #expect(fixture.loadCount == 1 && fixture.clock.pendingCallCount == 0)
        }
    }

    @Test func theRequestsPolicyTakesPrecedenceOverTheManagers() async throws {
        let fixture = try AttemptFixture()
        fixture.start { $0.retryPolicy = RetryPolicy.none }
        try await fixture.nextLoad().end(.failure(fixture.reset()))
        #expect(await fixture.error() == fixture.reset())
        let strict = try AttemptFixture(policy: .none)
        strict.start { $0.retryPolicy = .standard }
        try await strict.nextLoad().end(.failure(strict.reset()))
        #expect(strict.clock.pendingCallCount == 1)
    }

    @Test func requestsWithDifferentRetryPoliciesDoNotShareATransfer() async throws {
        let fixture = try AttemptFixture()
        fixture.start()
        fixture.start { $0.retryPolicy = RetryPolicy.none }
        fixture.start()
        let loads = [try await fixture.nextLoad(), try await fixture.nextLoad()]
        for load in loads { load.end(.failure(fixture.reset())) }
        #expect(await fixture.error() == fixture.reset())
        #expect(fixture.loadCount == 2 && fixture.clock.pendingCallCount == 1)
    }

    @Test func bytesOfAFailedAttemptReachNoImageAndNoCache() async throws {
        let fixture = try AttemptFixture()
        fixture.start()
        let wrong = try SolidPicture(99).png()
        let first = try await fixture.nextLoad()
        first.begin(expectedByteCount: Int64(wrong.count))
        first.send(wrong.prefix(wrong.count - 5))
        first.end(
            .failure(.invalidResponse(reason: .truncated(expected: Int64(wrong.count), received: 5), url: fixture.url)))
        fixture.clock.advance(by: .seconds(1))
        try await fixture.nextLoad().answer(picture.png(), pieceCount: 3)
        let response = try await fixture.result().get()
        #expect(picture.matches(response.image))
        #expect(try response.data == picture.png())
        let disk = try #require(fixture.manager.cache.disk)
        await disk.flush()
        #expect(try await disk.data(for: WebImageRequest(fixture.url).cacheKey.source) == picture.png())
        #expect(await disk.count == 1)
    }

    @Test func progressRestartsWithEachAttempt() async throws {
        let fixture = try AttemptFixture()
        let seen = LockBox<[Int64]>([])
        fixture.start(progress: { received, _ in seen.withLock { $0.append(received) } })
        let data = try picture.png()
        let first = try await fixture.nextLoad()
        first.begin(expectedByteCount: Int64(data.count))
        first.send(data.prefix(40))
        first.end(.failure(fixture.reset()))
        fixture.clock.advance(by: .seconds(1))
        let second = try await fixture.nextLoad()
        second.begin(expectedByteCount: Int64(data.count))
        second.send(data.prefix(10))
        second.send(data.dropFirst(10))
        second.end(.success(()))
        _ = try await fixture.result().get()
        // It is told of the attempt, then of the answer.
        #expect(seen.withLock { $0 } == [0, 40, 0, 0, 10, Int64(data.count)])
    }

    @Test func aLateJoinerReceivesTheAttempts() async throws {
        let fixture = try AttemptFixture()
        fixture.start()
        try await fixture.nextLoad().end(.failure(fixture.reset()))
        let late = fixture.start()
        #expect(late.attempts.map(\.number) == [1, 2])
        fixture.clock.advance(by: .seconds(1))
        try await fixture.nextLoad().answer(picture.png())
        #expect(await fixture.results.wait(for: 2).allSatisfy { (try? $0.get().attempts.count) == 2 })
        #expect(fixture.loadCount == 2)
    }

    @Test func onlyLoadedResponsesHaveAttempts() async throws {
        let fixture = try AttemptFixture()
        fixture.start()
        try await fixture.nextLoad().answer(picture.png())
        #expect(try await fixture.result().get().attempts.map(\.error) == [nil])
        let second = try await fixture.manager.manager.response(for: WebImageRequest(fixture.url))
        #expect(second.origin == .memoryCache && second.attempts.isEmpty)
    }

    @Test func aCancelWhileItWaitsEndsItAtOnce() async throws {
        let fixture = try AttemptFixture(isCacheable: false)
        let operation = fixture.start()
        try await fixture.nextLoad().end(.failure(fixture.reset()))
        #expect(fixture.clock.pendingCallCount == 1)
        operation.cancel()
        #expect(await fixture.error() == .cancelled)
        #expect(fixture.clock.pendingCallCount == 0)
        fixture.clock.advance(by: .seconds(100))
        #expect(fixture.loadCount == 1)
    }

    @Test func aCancelOfALaterAttemptReachesItsLoad() async throws {
        let fixture = try AttemptFixture(isCacheable: false)
        let operation = fixture.start()
        try await fixture.nextLoad().end(.failure(fixture.reset()))
        fixture.clock.advance(by: .seconds(1))
        let second = try await fixture.nextLoad()
        operation.cancel()
        try await second.cancellations.first()
        #expect(await fixture.error() == .cancelled)
        fixture.clock.advance(by: .seconds(100))
        #expect(fixture.loadCount == 2)
    }

    @Test func cancellingOneRequestDoesNotEndTheWaitOfAnother() async throws {
        let fixture = try AttemptFixture(isCacheable: false)
        let leaving = fixture.start()
        fixture.start()
        try await fixture.nextLoad().end(.failure(fixture.reset()))
        leaving.cancel()
        fixture.clock.advance(by: .seconds(1))
        try await fixture.nextLoad().answer(picture.png())
        let results = await fixture.results.wait(for: 2)
        #expect(results.count { (try? $0.get()) != nil } == 1)
    }

    @Test func priorityReachesTheCurrentAndTheNextAttempt() async throws {
        let fixture = try AttemptFixture(isCacheable: false)
        let operation = fixture.start()
        let first = try await fixture.nextLoad()
        #expect(first.initialPriority == .normal)
        operation.priority = .high
        #expect(try await first.priorityChanges.first() == .high)
        first.end(.failure(fixture.reset()))
        operation.priority = .low
        fixture.clock.advance(by: .seconds(1))
        let second = try await fixture.nextLoad()
        #expect(second.initialPriority == .low)
        operation.priority = .veryHigh
        #expect(try await second.priorityChanges.first() == .veryHigh)
    }

    @Test func startsNothingAfterTheTimeLimit() async throws {
        var policy = RetryPolicy(maximumAttempts: 100)
        policy.timeLimit = .seconds(2)
        let fixture = try AttemptFixture(policy: policy)
        fixture.start { $0.alternatives = [URL(filePath: "/never")] }
        try await fixture.nextLoad().end(.failure(fixture.reset()))
        fixture.clock.advance(by: .seconds(1))
        let second = try await fixture.nextLoad()
        fixture.clock.advance(by: .seconds(2))
        second.end(.failure(fixture.reset()))
        #expect(await fixture.error() == fixture.reset())
        #expect(fixture.loadCount == 2)
    }

    @Test func aThousandLoadsWaitOnOneTimerAndEndWithTheirManager() async throws {
        let fixture = try AttemptFixture(isCacheable: false)
        let operations = try (0..<1000).map { number in
            let url = try ManagerFixture.url("many/\(number)")
            return fixture.start { $0.url = url }
        }
        for _ in operations { try await fixture.nextLoad().end(.failure(fixture.reset())) }
        #expect(fixture.clock.pendingCallCount == 1000)
        fixture.manager.manager.cancelAll()
        #expect(fixture.clock.pendingCallCount == 0)
        #expect(await fixture.results.wait(for: 1000).count == 1000)
    }
}
