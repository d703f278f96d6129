import FoundationEssentials
import WebImageCoding
import WebImageTestSupport

@testable import WebImageCaching

/// A directory, image caches on it, and their reports.
struct ImageCacheFixture {
    let disk: DiskFixture
    let reports = Reports()
    let key = ImageCacheKey(source: "http://example.org/a.png")
    let thumbnailKey = ImageCacheKey(source: "http://example.org/a.png", variant: "thumb")

    init() throws { disk = try DiskFixture() }

    /// A cache on the directory, with its own memory cache.
    func cache(
        decoder: (any ImageDecoder)? = nil, hasDisk: Bool = true,
        configure: (inout ImageCache.Configuration) -> Void = { _ in }
    ) -> ImageCache {
        var configuration = ImageCache.Configuration()
        if let decoder {
            configuration.codecs = CodecRegistry(decoders: CodecRegistry.builtInDecoders() + [decoder])
        }
        configuration.onFailure = { [reports] in reports.add($0) }
        configure(&configuration)
        return ImageCache(
            memory: MemoryCache(costLimit: 1 << 20), disk: hasDisk ? disk.cache() : nil, configuration: configuration)
    }
}
