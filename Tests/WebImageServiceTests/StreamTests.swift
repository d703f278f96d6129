import Foundation
import Testing
import WebImage
import WebImageCaching
import WebImageTestSupport

@testable import WebImageService

/// Long results, which clients read from the disk.
@Suite(.timeLimit(.minutes(1)))
struct StreamTests {
    /// Noise, of which a bitmap takes 3 MB.
    private static func noise() throws -> Data {
        var pixels = try MutablePixelBuffer(width: 1000, height: 1000)
        var state = UInt64(1)
        pixels.withUnsafeMutableBytes { bytes in
            for index in bytes.indices {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                bytes[index] = index % 4 == 3 ? 255 : UInt8(truncatingIfNeeded: state >> 56)
            }
        }
        return try CodecRegistry.shared.encode(Image(pixels: pixels.freeze(isOpaque: true)), as: .png)
    }

    private func fixture(_ directory: TemporaryDirectory) throws -> ServiceFixture {
        try directory.write(Self.noise(), to: "photos/a.png")
        return try ServiceFixture {
            $0.folder = URL(filePath: directory.path("photos"), directoryHint: .isDirectory)
            $0.disk = ServiceFixture.disk(in: directory)
        }
    }

    private func pieces(_ answer: ServiceAnswer) async throws -> [Data] {
        try await answer.body.reduce(into: []) { $0.append($1) }
    }

    @Test func longResultsComeFromTheDisk() async throws {
        let directory = try TemporaryDirectory()
        let fixture = try fixture(directory)
        let path = "/plain/local:///a.png@bmp"
        let made = try await fixture.get(path)
        #expect(made.status == 200 && made.body.data == nil && made.body.count > 3_000_000)
        #expect(made.header("Content-Length") == "\(made.body.count)")
        let pieces = try await pieces(made)
        #expect(pieces.allSatisfy { (1...64 << 10).contains($0.count) })
        let whole = pieces.reduce(into: Data()) { $0 += $1 }
        #expect(whole.count == made.body.count)
        #expect(try CodecRegistry.shared.info(of: whole).size == PixelSize(width: 1000, height: 1000))
        // Memory would have had it.
        let again = try await fixture.get(path)
        #expect(again.header("Cache-Status")?.hasSuffix("detail=disk") == true && again.body.data == nil)
        let part = try await fixture.get(path, ["Range": "bytes=100000-299999"])
        #expect(part.status == 206)
        #expect(try await self.pieces(part).reduce(into: Data()) { $0 += $1 } == whole[100_000..<300_000])
        #expect(try await fixture.get(path, method: "HEAD").body.count == 0)
    }

    /// Clients may read them slowly.
    @Test func answersInMemoryHaveALimitTogether() async throws {
        let directory = try TemporaryDirectory()
        for name in ["a", "b"] { try directory.write(Self.noise(), to: "photos/\(name).png") }
        let fixture = try ServiceFixture {
            $0.folder = URL(filePath: directory.path("photos"), directoryHint: .isDirectory)
            $0.limits.sendingByteCount = 4 << 20
        }
        // Bitmaps of 3 MB. An equal one takes no more memory, and a short answer none.
        var first = [try await fixture.get("/plain/local:///a.png@bmp")]
        first.append(try await fixture.get("/plain/local:///a.png@bmp", ["Range": "bytes=0-99999"]))
        #expect(first.map(\.status) == [200, 206] && first[1].body.data?.count == 100_000)
        let refused = try await fixture.get("/plain/local:///b.png@bmp")
        #expect(refused.status == 503 && refused.header("Retry-After") == "1")
        #expect(try await fixture.get("/w:10/plain/local:///b.png@png").status == 200)
        #expect(try await fixture.get("/plain/local:///b.png@bmp", method: "HEAD").status == 200)
        #expect(fixture.service.counters.refusals == 1 && fixture.service.counters.requests == 5)
        first = []
        #expect(try await fixture.get("/plain/local:///b.png@bmp").status == 200)
    }

    @Test func shortResultsAreInMemory() async throws {
        let directory = try TemporaryDirectory()
        let fixture = try fixture(directory)
        let made = try await fixture.get("/w:300/plain/local:///a.png@bmp")
        #expect(made.body.data?.count == made.body.count)
        #expect(try await pieces(made).count == (made.body.count + 65_535) / 65_536)
    }

    /// A file that is open stays as it is.
    @Test func aResultThatIsRemovedIsSentToItsEnd() async throws {
        let directory = try TemporaryDirectory()
        let fixture = try fixture(directory)
        let answer = try await fixture.get("/plain/local:///a.png@bmp")
        await fixture.service.configuration.disk?.removeAll()
        #expect(try await pieces(answer).reduce(0) { $0 + $1.count } == answer.body.count)
    }
}
