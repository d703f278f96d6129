import FoundationEssentials
import Testing
import WebImageCore

@testable import WebImageCaching

/// Texts that are equivalent in Unicode, but differ in bytes, are different keys everywhere.
@Suite(.timeLimit(.minutes(3))) struct KeyBytesTests {
    private let one = "caf\u{e9}"
    private let two = "cafe\u{301}"
    /// The same length as the other, in another order.
    private let third = "a\u{316}\u{301}"
    private let fourth = "a\u{301}\u{316}"

    @Test(arguments: ["", "a", "caf"]) func theBeginningOfATextIsAnotherKey(beginning: String) {
        #expect(KeyText(beginning) != KeyText(beginning + "e") && KeyText(beginning + "e") != KeyText(beginning))
        #expect(KeyText(beginning) == KeyText(beginning))
        #expect(KeyText(one) != KeyText(two) && KeyText(two) != KeyText(one))
    }

    @Test func areDistinctOnDiskBeforeAndAfterWriting() async throws {
        #expect(one == two && third == fourth)
        let fixture = try DiskFixture()
        let cache = fixture.cache()
        let keys = [one, two, third, fourth]
        for _ in 0..<100 {
            for (number, key) in keys.enumerated() { cache.store(Data(10, of: UInt8(number)), for: key) }
            for (number, key) in keys.enumerated() {
                #expect(await cache.data(for: key) == Data(10, of: UInt8(number)))
            }
        }
        await cache.flush()
        #expect(await cache.count == 4)
        for (number, key) in keys.enumerated() { #expect(await cache.data(for: key) == Data(10, of: UInt8(number))) }
        cache.remove(for: one)
        #expect(await !cache.contains(one))
        #expect(await cache.contains(two))
        cache.update(DiskCache.Attributes(extendedData: Data([1])), for: third)
        #expect(await cache.entry(for: third)?.extendedData == Data([1]))
        #expect(await cache.entry(for: fourth)?.extendedData == nil)
    }

    @Test(arguments: [false, true])
    func areDistinctInMemory(revives: Bool) {
        final class Value: Sendable {}
        var configuration = MemoryCache<String, Value>.Configuration()
        if revives { configuration.revival = .weak }
        let cache = MemoryCache<String, Value>(configuration: configuration)
        let values = [Value(), Value(), Value(), Value()]
        let keys = [one, two, third, fourth]
        for (key, value) in zip(keys, values) { cache.set(value, for: key) }
        #expect(cache.count == 4)
        cache.trim(toCount: 0)
        if !revives { for (key, value) in zip(keys, values) { cache.set(value, for: key) } }
        for (key, value) in zip(keys, values) { #expect(cache.value(for: key) === value) }
        cache.remove(for: one)
        #expect(!cache.contains(one) && cache.contains(two))
    }

    @Test func areDistinctInImageCacheKeys() {
        #expect(ImageCacheKey(source: one) != ImageCacheKey(source: two))
        #expect(ImageCacheKey(source: third) != ImageCacheKey(source: fourth))
        #expect(ImageCacheKey(source: "a", variant: one) != ImageCacheKey(source: "a", variant: two))
        #expect(ImageCacheKey(source: "a", variant: nil) != ImageCacheKey(source: "a", variant: ""))
        let same = String(decoding: Array(one.utf8), as: UTF8.self)
        #expect(ImageCacheKey(source: one, variant: two) == ImageCacheKey(source: same, variant: two))
        #expect(Set([one, two, third, fourth].map { ImageCacheKey(source: $0) }).count == 4)
    }

    @Test func areDistinctInACache() async throws {
        let fixture = try DiskFixture()
        let cache = Cache<Data>(disk: fixture.cache(), archiver: .identity)
        try await cache.set(Data([1]), for: one)
        try await cache.set(Data([2]), for: two)
        #expect(await cache.item(for: one)?.value == Data([1]))
        cache.memory.removeAll()
        #expect(await cache.value(for: one) == Data([1]))
        #expect(await cache.value(for: two) == Data([2]))
    }

    @Test func areDistinctInProvenances() {
        final class Place: ImageProvenance { let marks = ProvenanceMarks() }
        let (table, place) = (ProvenanceTable(), Place())
        table.change(of: one) { $0.append(place) }
        table.change(of: two) { #expect($0.isEmpty) }
        table.change(of: one) { #expect($0.count == 1) }
    }
}
