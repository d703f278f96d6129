import FoundationEssentials
import Testing

@testable import WebImageCaching

@Suite struct MemoryCacheExpirationTests {
    @Test func handsOutNothingThatHasExpired() {
        let fixture = MemoryCacheFixture<Int, Int>()
        fixture.cache.set(1, for: 1, cost: 5, expiration: .seconds(10))
        fixture.cache.set(2, for: 2, expiration: .never)
        fixture.ticking.advance(seconds: 9)
        #expect(fixture.cache.value(for: 1) == 1)
        fixture.ticking.advance(seconds: 1)
        #expect(!fixture.cache.contains(1))
        #expect(fixture.cache.remove(for: 1) == nil)
        #expect(fixture.cache.count == 1 && fixture.cache.totalCost == 0)
        #expect(fixture.cache.value(for: 2) == 2)
    }

    @Test func insertsWhereAnEntryHasExpired() {
        let fixture = MemoryCacheFixture<Int, Int>()
        fixture.cache.set(1, for: 1, expiration: .seconds(10))
        fixture.ticking.advance(seconds: 10)
        #expect(fixture.cache.insert(2, for: 1))
        #expect(fixture.cache.value(for: 1) == 2)
    }

    @Test func takesDatesAndTheDefault() {
        let fixture = MemoryCacheFixture<Int, Int> { $0.expiration = .seconds(5) }
        fixture.cache.set(1, for: 1)
        fixture.cache.set(2, for: 2, expiration: .date(Date(timeIntervalSince1970: 1_003)))
        fixture.cache.set(3, for: 3, expiration: .never)
        fixture.ticking.advance(seconds: 3)
        #expect((1...3).filter { fixture.cache.contains($0) } == [1, 3])
        fixture.ticking.advance(seconds: 2)
        #expect((1...3).filter { fixture.cache.contains($0) } == [3])
    }

    @Test func aUseLengthensAnExpirationByTheRule() {
        let fixture = MemoryCacheFixture<Int, Int> { $0.expirationExtension = .original }
        fixture.cache.set(1, for: 1, expiration: .seconds(10))
        fixture.ticking.advance(seconds: 6)
        #expect(fixture.cache.value(for: 1) == 1)
        fixture.ticking.advance(seconds: 6)
        #expect(fixture.cache.contains(1))
        fixture.ticking.advance(seconds: 4)
        #expect(!fixture.cache.contains(1), "to be asked for is no use")
    }

    @Test func removesWhatHasExpiredOnRequest() {
        let fixture = MemoryCacheFixture<Int, Int> { $0.ageLimit = 100 }
        for key in 0..<50 { fixture.cache.set(key, for: key, cost: 1, expiration: .seconds(Double(key))) }
        fixture.ticking.advance(seconds: 29)
        fixture.cache.removeExpired()
        #expect(fixture.cache.count == 20 && fixture.cache.totalCost == 20)
        #expect((30..<50).allSatisfy { fixture.cache.contains($0) })
        fixture.cache.set(99, for: 99)
        fixture.ticking.advance(seconds: 100)
        fixture.cache.removeExpired()
        #expect(fixture.cache.count == 0)
    }
}
