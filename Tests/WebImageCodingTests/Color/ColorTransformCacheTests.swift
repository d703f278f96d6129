import Dispatch
import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

@Suite struct ColorTransformCacheTests {
    private func encoding(gamma: Double) throws -> ColorEncoding {
        .profile(try #require(ProfileBytes.display(.displayP3, curve: gammaCurve(gamma)).profile()))
    }

    @Test func keepsTheOnesUsedLast() throws {
        let cache = ColorTransformCache(countLimit: 2)
        let (first, second, third) = (try encoding(gamma: 1), try encoding(gamma: 2), try encoding(gamma: 3))
        for encoding in [first, second, first, third] {
            #expect(cache.transform(from: encoding, model: .rgb) != nil)
        }
        #expect(cache.count == 2)
        #expect(cache.holds(first))
        #expect(!cache.holds(second))
        #expect(cache.holds(third))
    }

    @Test func isBoundedInBytes() throws {
        let cache = ColorTransformCache(byteLimit: 40_000)
        for gamma in 1...20 { _ = cache.transform(from: try encoding(gamma: Double(gamma) / 8), model: .rgb) }
        // Each takes 12 KB and its profile.
        #expect(cache.count == 3)
    }

    @Test func remembersWhatCannotBeUsed() throws {
        let cache = ColorTransformCache()
        let useless = ColorEncoding.profile(try #require(ProfileBytes().profile()))
        #expect(cache.transform(from: useless, model: .rgb) == nil)
        #expect(cache.holds(useless))
    }

    @Test func tellsModelsApart() throws {
        let cache = ColorTransformCache()
        let gray = ColorEncoding.profile(try #require(ProfileBytes.gray(curve: gammaCurve(1)).profile()))
        #expect(cache.transform(from: gray, model: .gray) != nil)
        #expect(cache.transform(from: gray, model: .rgb) == nil)
        #expect(cache.transform(from: gray, model: .cmyk) == nil)
    }

    @Test func servesManyThreads() throws {
        // Fewer places than profiles, so that threads throw out what others use.
        let cache = ColorTransformCache(countLimit: 2)
        let scanner = try #require(
            PNGColorChunks(reading: Data(try Fixture("../color/scanner.png").data()).bytes).profile)
        let encodings = try [.profile(scanner)] + (1...3).map { try encoding(gamma: Double($0)) }
        let expected = encodings.map { convertedNoise(by: $0, cache: ColorTransformCache()) }
        let wrongCount = Lock(0)
        DispatchQueue.concurrentPerform(iterations: 64) { index in
            let choice = index % encodings.count
            if convertedNoise(by: encodings[choice], cache: cache) != expected[choice] {
                wrongCount.withLock { $0 += 1 }
            }
        }
        #expect(wrongCount.withLock { $0 } == 0)
        #expect(cache.count == 2)
    }

    private func convertedNoise(by encoding: ColorEncoding, cache: ColorTransformCache) -> [UInt8] {
        var colors = MatrixShaperTests.colors
        guard let transform = cache.transform(from: encoding, model: .rgb) else { return [] }
        colors.withUnsafeMutableBufferPointer { pixels in
            guard let start = pixels.baseAddress else { return }
            transform.convert(start, to: start, pixelCount: pixels.count / 4)
        }
        return colors
    }
}
