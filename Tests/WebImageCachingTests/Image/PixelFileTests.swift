import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

@Suite(.timeLimit(.minutes(3))) struct PixelFileTests {
    private let mark = BytesMark(byteCount: 12_345, checksum: 0xDEAD_BEEF)

    /// An image whose pixels do not repeat.
    private func noise(_ width: Int, _ height: Int) throws -> Image {
        var generator = SplitMix64(seed: 7)
        var pixels = try MutablePixelBuffer(width: width, height: height)
        pixels.withUnsafeMutableBytes { bytes in bytes.copyBytes(from: generator.opaquePixels(count: bytes.count / 4)) }
        return Image(pixels: pixels.freeze(isOpaque: true))
    }

    private func bytes(_ image: Image) -> [UInt8] {
        (0..<image.height).flatMap { Array(UnsafeBufferPointer(start: image.pixels.row($0), count: image.width * 4)) }
    }

    @Test(arguments: [(1, 1), (3, 2), (97, 31), (320, 240)])
    func roundTrips(_ width: Int, _ height: Int) throws {
        for image in [try noise(width, height), try solidImage(width, height, alpha: 100)] {
            let data = try #require(PixelFile(image, madeFrom: mark).encoded())
            #expect(PixelFile.original(of: data) == mark)
            let read = try #require(PixelFile(data))
            #expect(read.original == mark)
            #expect(bytes(read.image) == bytes(image))
            #expect(read.image.pixels.isOpaque == image.pixels.isOpaque)
        }
    }

    @Test func onlyWhatBecomesSmallerIsCompressed() throws {
        let byteCount = 320 * 240 * 4
        #expect(try PixelFile(noise(320, 240), madeFrom: mark).encoded()?.count == 64 + byteCount)
        #expect(try #require(PixelFile(solidImage(320, 240), madeFrom: mark).encoded()).count < byteCount / 50)
    }

    @Test func theOtherPropertiesAreKept() throws {
        var image = try noise(5, 4)
        let own = ImageFormat(name: "qoi", mimeType: "image/qoi", fileExtension: "qoi")
        (image.format, image.scale, image.frameCount) = (own, 1.5, 12)
        (image.isThumbnail, image.isTransformed) = (true, true)
        for extendedData in [nil, Data(), Data([1, 2, 3])] {
            image.extendedData = extendedData
            let read = try #require(PixelFile(image, madeFrom: mark).encoded().flatMap(PixelFile.init)).image
            #expect(read.format == own && read.scale == 1.5 && read.frameCount == 12)
            #expect(read.isThumbnail && read.isTransformed && !read.isPartial)
            #expect(read.extendedData == extendedData)
        }
    }

    @Test func aPartOfAnImageIsStoredWithoutItsGaps() throws {
        let whole = try noise(40, 30)
        let rect = PixelRect(x: 1, y: 2, width: 38, height: 27)
        let part = try #require(try whole.pixels.cropped(to: rect))
        let read = try #require(PixelFile(Image(pixels: part), madeFrom: mark).encoded().flatMap(PixelFile.init))
        #expect(bytes(read.image) == bytes(Image(pixels: part)))
    }

    @Test func partialImagesAreNotStored() async throws {
        let fixture = try DiskFixture()
        let cache = try #require(PixelCache(originals: fixture.cache(), byteLimit: 1 << 20, ageLimit: nil))
        let whole = try solidImage()
        var partial = whole
        partial.isPartial = true
        cache.store(partial, madeFrom: mark, for: "partial")
        cache.store(whole, madeFrom: mark, for: "whole")
        await cache.flush()
        #expect(await cache.entry(for: "partial") == nil)
        #expect(await cache.entry(for: "whole") != nil)
    }

    @Test func aPrefixIsNotAnImage() throws {
        for image in [try noise(9, 7), try solidImage(40, 30)] {
            let data = try #require(PixelFile(image, madeFrom: mark).encoded())
            for count in 0..<data.count { #expect(PixelFile(Data(data.prefix(count))) == nil) }
        }
    }

    @Test func damagedBytesAreReadOrRefused() throws {
        var generator = SplitMix64(seed: 3)
        for image in [try noise(9, 7), try solidImage(40, 30)] {
            let data = try #require(PixelFile(image, madeFrom: mark).encoded())
            for _ in 0..<20_000 {
                var damaged = data
                for _ in 0..<Int.random(in: 1...4, using: &generator) {
                    let limit = Bool.random(using: &generator) ? min(64, data.count) : data.count
                    damaged[Int.random(in: 0..<limit, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
                }
                if let read = PixelFile(damaged)?.image { #expect(read.width * read.height <= damaged.count * 256) }
            }
        }
    }

    @Test func hasAStableFormat() throws {
        let data = try #require(PixelFile(solidImage(1, 1), madeFrom: mark).encoded())
        let header = Array("WIPX".utf8) + [1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 255, 255, 255, 255]
        let scale: [UInt8] = [0, 0, 0, 0, 0, 0, 0xF0, 0x3F]
        let original: [UInt8] = [0x39, 0x30, 0, 0, 0, 0, 0, 0, 0xEF, 0xBE, 0xAD, 0xDE]
        #expect(Array(data) == header + scale + original + [UInt8](repeating: 0, count: 20) + [100, 100, 100, 255])
    }
}
