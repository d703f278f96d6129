internal import FoundationEssentials
package import WebImageCaching
package import WebImageCore

/// Thumbnails that are stored as pixels, more of them at once than may wait to be written.
package enum WriterPixels {
    package static let count = 100
    /// Together 100 MiB in memory. One color takes little on disk.
    private static let side = 512

    /// An image cache on the directory of a disk cache.
    package static func cache(on disk: DiskCache) -> ImageCache {
        ImageCache(memory: MemoryCache(costLimit: 1 << 30), disk: disk)
    }

    package static func key(_ number: Int) -> ImageCacheKey {
        ImageCacheKey(source: "https://example.org/\(number).jpg", variant: "\(side)")
    }

    /// The color of the pixels.
    package static func matches(_ image: Image, _ number: Int) -> Bool {
        image.width == side && image.height == side
            && image.pixels.withUnsafeBytes { bytes in bytes[0] == UInt8(number) && bytes.last == 255 }
    }

    /// Stores originals and thumbnails, and returns at once.
    package static func storeAll(in cache: ImageCache) throws {
        // Made before, so that they are stored faster than they are written.
        for (number, image) in try (0..<count).map(image).enumerated() {
            let (key, original) = (key(number), Data("original \(number)".utf8))
            cache.disk?.store(original, for: key.original.description)
            cache.memory.set(image, for: key, cost: image.memoryCost)
            CacheAdapter.pipelineCache(cache).storePixels(image, madeFrom: BytesMark(original), for: key)
        }
    }

    private static func image(_ number: Int) throws -> Image {
        var pixels = try MutablePixelBuffer(width: side, height: side)
        pixels.withUnsafeMutableBytes { bytes in
            let color = UInt32(littleEndian: 0xFF00_0000 | UInt32(number) * 0x1_0101)
            bytes.withMemoryRebound(to: UInt32.self) { $0.update(repeating: color) }
        }
        var image = Image(pixels: pixels.freeze(isOpaque: true))
        image.isThumbnail = true
        return image
    }
}
