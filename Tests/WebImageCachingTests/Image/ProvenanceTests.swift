import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

/// Images that share their source.
@Suite(.timeLimit(.minutes(1))) struct ProvenanceTests {
    private final class Source: ImageProvenance { let marks = ProvenanceMarks() }

    private let fixture: ImageCacheFixture
    private let cache: ImageCache

    init() throws {
        fixture = try ImageCacheFixture()
        cache = fixture.cache()
    }

    @Test func memoryReturnsNoImagesOfSupersededBytes() throws {
        let source = Source()
        var image = try solidImage()
        image.provenance = source
        for key in [fixture.key, fixture.thumbnailKey] {
            ImageCacheAdapter(cache).storeLoaded(image, original: nil, for: key)
        }
        #expect(cache.image(inMemoryFor: fixture.key)?.provenance === source)
        source.marks.supersede()
        #expect(cache.image(inMemoryFor: fixture.key) == nil)
        #expect(cache.image(inMemoryFor: fixture.thumbnailKey) == nil)
        // They do not reserve an entry of a new source.
        #expect(cache.memory.count == 0)
    }

    @Test func imagesStoredByTheAppOutliveTheirSource() throws {
        let source = Source()
        var image = try solidImage()
        image.provenance = source
        cache.store(image, for: fixture.key, in: .memory)
        source.marks.supersede()
        #expect(cache.image(inMemoryFor: fixture.key) != nil)
    }

    @Test func revivedImagesKeepTheirSource() throws {
        let source = Source()
        var image = try solidImage()
        image.provenance = source
        let copy = image
        let ofCopies = try #require(ValueRevival.weakPixels.makeReference(&image))
        #expect(ofCopies.value?.provenance === source)
        var other = copy
        other.scale = 2
        let pixels = other.pixels
        let ofPixels = try #require(ValueRevival.weakPixels.makeReference(&other))
        #expect(ofPixels.value?.provenance === source && ofPixels.value?.scale == 2)
        withExtendedLifetime((copy, pixels)) {}
    }

    @Test func theTableDoesNotRetainSources() {
        let table = ProvenanceTable()
        var source: Source? = Source()
        table.change(of: "a") { [source] living in living.append(contentsOf: [source].compactMap { $0 }) }
        #expect(livingCount(of: "a", in: table) == 1)
        source = nil
        #expect(livingCount(of: "a", in: table) == 0)
        #expect(table.sourceCount == 0)
    }

    @Test func theTableForgetsReleasedSources() {
        let table = ProvenanceTable()
        let kept = Source()
        table.change(of: "kept") { $0.append(kept) }
        for number in 0..<10_000 { table.change(of: "\(number)") { $0.append(Source()) } }
        #expect(table.sourceCount <= 257)
        #expect(livingCount(of: "kept", in: table) == 1)
    }

    private func livingCount(of source: String, in table: ProvenanceTable) -> Int {
        var count = 0
        table.change(of: source) { count = $0.count }
        return count
    }
}
