import FoundationEssentials
import Testing

@testable import WebImageCaching

@Suite(.timeLimit(.minutes(3))) struct KeyTextTests {
    @Test(arguments: ["http://example.org/a%23b.png?c=d", "avatars/3|x.png", "caf\u{e9}", ""])
    func plainSourcesAreUnescaped(source: String) {
        #expect(ImageCacheKey(source: source).description == source)
        #expect(ImageCacheKey(source: source, variant: "tint=#fff").description == "\(source)#tint=#fff")
    }

    @Test func aTextIsTheKeyOfAnOriginal() async throws {
        let cache = ImageCache(disk: try DiskFixture().cache())
        // In an `async` function, this waits until the image is encoded and on disk.
        await cache.store(try solidImage(), for: "drawing/1#2")
        let number = 1
        #expect(await cache.disk?.contains(ImageCacheKey(source: "drawing/1#2").description) == true)
        #expect(await cache.image(for: "drawing/\(number)#2") != nil)
        #expect(cache.image(inMemoryFor: "drawing/1#2") != nil && cache.memory.contains("drawing/1#2"))
        await cache.remove(for: "drawing/1#2")
        #expect(await !cache.contains("drawing/1#2"))
    }

    /// Short sources and variants, made of separators, escapes and letters.
    @Test func textsAreUniqueAndRoundTrip() {
        let parts = [
            "", "a", "#", "\\", "#\\", "\\#", "a#b", "\\\\", "a\\", "|vary=0", "\\vary=0", "##", "\n", "\\x0a",
            "\u{7f}", "caf\u{e9}",
        ]
        var texts: Set<String> = []
        for source in parts {
            for variant in [nil] + parts.map(Optional.some) {
                let key = ImageCacheKey(source: source, variant: variant)
                #expect(texts.insert(key.description).inserted, "\(key)")
                #expect(ImageCacheKey(text: key.description) == key)
            }
            for alternate in ImageCacheKey(source: source).alternates {
                #expect(texts.insert(alternate.description).inserted, "\(alternate)")
                #expect(ImageCacheKey(text: alternate.description) == alternate)
            }
        }
    }

    @Test(arguments: ["\\", "a\\b", "\\\\\\", "\n", "\\x", "\\x0", "\\x41", "\\x0A", "a#\\#"])
    func rejectsInvalidTexts(text: String) { #expect(ImageCacheKey(text: text) == nil) }

    /// An original whose source looks like a variant of another one.
    @Test func aSourceWithTheSeparatorIsNotAVariant() async throws {
        let fixture = try ImageCacheFixture()
        let (original, other) = (try solidPNG(), try solidPNG(4, 4))
        let cache = fixture.cache()
        let (variant, custom) = (ImageCacheKey(source: "a", variant: "b"), ImageCacheKey(source: "a#b"))
        await cache.store(nil, data: original, for: variant, in: .disk, attributes: .init())
        #expect(await cache.data(for: custom, in: .disk) == nil)
        await cache.store(nil, data: other, for: custom, in: .disk, attributes: .init())
        #expect(await cache.data(for: variant, in: .disk)?.data == original)
        #expect(await cache.data(for: custom, in: .disk)?.data == other)
    }
}
