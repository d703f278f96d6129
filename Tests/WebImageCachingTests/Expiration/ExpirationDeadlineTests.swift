import Foundation
import Testing

@testable import WebImageCaching

@Suite struct ExpirationDeadlineTests {
    private let now: Int64 = 5_000_000

    private func deadline(_ expiration: CacheExpiration) -> ExpirationDeadline {
        ExpirationDeadline(expiration, now: now, date: 1_000_000_000_000_000)
    }

    @Test func neverPassesNever() {
        #expect(!deadline(.never).isPassed(at: .max))
    }

    @Test func secondsCountFromNow() {
        let deadline = deadline(.seconds(2))
        #expect(!deadline.isPassed(at: now + 1_999_999))
        #expect(deadline.isPassed(at: now + 2_000_000))
    }

    @Test(arguments: [0, -1, -.infinity, .nan] as [Double]) func secondsThatAreNoTimePassAtOnce(_ seconds: Double) {
        #expect(deadline(.seconds(seconds)).isPassed(at: now))
    }

    @Test func endlessSecondsPassInAnotherAge() {
        #expect(!deadline(.seconds(.infinity)).isPassed(at: now + 1_000_000_000_000_000))
    }

    @Test func aDateIsAMomentOfTheCalendar() {
        let deadline = deadline(.date(Date(timeIntervalSince1970: 1_000_000_003)))
        #expect(!deadline.isPassed(at: now + 2_999_999))
        #expect(deadline.isPassed(at: now + 3_000_000))
    }

    @Test func aDateOfThePastHasPassed() {
        #expect(deadline(.date(.distantPast)).isPassed(at: now))
    }

    @Test func usesLengthenSecondsByTheRule() {
        var original = deadline(.seconds(10))
        let isOriginalLonger = original.extend(by: .original, at: now + 4_000_000)
        #expect(isOriginalLonger)
        #expect(original.time == now + 14_000_000)

        var seconds = deadline(.seconds(10))
        let isSecondsLonger = seconds.extend(by: .seconds(30), at: now)
        #expect(isSecondsLonger)
        #expect(seconds.time == now + 30_000_000)
    }

    @Test func usesNeverShortenAnExpiration() {
        var deadline = deadline(.seconds(10))
        let isLonger = deadline.extend(by: .seconds(1), at: now)
        #expect(!isLonger)
        let isLongerByNothing = deadline.extend(by: .none, at: now + 9_000_000)
        #expect(!isLongerByNothing)
        #expect(deadline.time == now + 10_000_000)
    }

    @Test func usesLengthenNeitherDatesNorNever() {
        var date = deadline(.date(.distantFuture))
        var never = deadline(.never)
        let isDateLonger = date.extend(by: .seconds(1e12), at: now)
        #expect(!isDateLonger)
        let isNeverLonger = never.extend(by: .original, at: now)
        #expect(!isNeverLonger)
    }
}
