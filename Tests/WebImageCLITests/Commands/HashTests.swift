import Foundation
import Testing
import WebImage
import WebImageCore

@testable import WebImageCLI

@Suite(.timeLimit(.minutes(3))) struct HashCommandTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        let scene = try TestImage.scene()
        _ = try tool.write(CodecRegistry.shared.encode(scene, as: .png), to: "a.png")
        let small = try scene.processed(by: [.resize(to: .pixels(width: 48))])
        _ = try tool.write(CodecRegistry.shared.encode(small, as: .jpeg), to: "a-small.jpg")
        let other = try scene.processed(by: [.rotate(degrees: 180)])
        _ = try tool.write(CodecRegistry.shared.encode(other, as: .png), to: "b.png")
    }

    private struct Object: Decodable {
        var url: String
        var phash: String?
        var thumbhash: String?
        var blurhash: String?
        var error: ErrorObject?
    }

    @Test func printsThoseOfTheLibrary() async throws {
        let image = try TestImage.scene()
        let object = try await tool.run("hash", "--json", "a.png").object(Object.self)
        #expect(try object.phash == PerceptualHash(of: image).description)
        #expect(try object.thumbhash == ThumbHash(of: image).base64)
        #expect(try object.blurhash == BlurHash(of: image).string)
        let run = try await tool.run("hash", "a.png", "b.png")
        let lines = run.output.split(separator: "\n")
        #expect(lines.count == 2 && lines[0].hasPrefix("a.png: phash \(object.phash ?? "") thumbhash "))
        let waves = try await tool.run("hash", "--json", "--components", "2x5", "a.png").object(Object.self)
        #expect(try waves.blurhash == BlurHash(of: image, components: (2, 5)).string)
    }

    /// What `imagehash.phash` of ImageHash 4.3.2 says of the file, which Pillow reduces with another rounding.
    @Test func perceptualHashesAreThoseOfImageHash() async throws {
        let fixture = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Fixtures/images/photo.jpg")
        let path = try tool.write(Data(contentsOf: fixture), to: "photo.jpg")
        let object = try await tool.run("hash", "--json", path).object(Object.self)
        let hash = try #require(object.phash.flatMap { PerceptualHash($0) })
        let expected = try #require(PerceptualHash("a5189a65c9666d5e"))
        #expect(hash.distance(to: expected) <= 2, "\(hash)")
    }

    @Test func printsOneHashAsSumsAre() async throws {
        let run = try await tool.run("hash", "--only", "blurhash", "a.png", "gone.png", "b.png")
        #expect(run.status == 1 && run.errors.contains("gone.png"))
        let lines = run.output.split(separator: "\n").map(String.init)
        #expect(lines.count == 2 && lines[1].hasSuffix("  b.png"))
        #expect(try lines[0] == BlurHash(of: TestImage.scene()).string + "  a.png")
        let object = try await tool.run("hash", "--json", "--only", "phash", "a.png").object(Object.self)
        #expect(object.phash != nil && object.blurhash == nil && object.thumbhash == nil)
    }

    @Test func findsImagesThatLookAlike() async throws {
        let run = try await tool.run("hash", "--similar", "10", "b.png", "a.png", "a-small.jpg")
        #expect(run.status == 0 && run.output == "a.png\na-small.jpg\n", "\(run.output)\(run.errors)")
        let all = try await tool.run("hash", "--similar", "64", "b.png", "a.png", "--json")
        #expect(all.output == "{\"files\":[\"b.png\",\"a.png\"]}\n")
    }

    @Test func groupsImagesThatAreAlikeThroughOthers() {
        let hashes = [0b0000, 0xFF00, 0b0011, 0b1111, 0xFF01, 0xFF_0000_0000].map { PerceptualHash(UInt64($0)) }
        #expect(HashGroups(of: hashes, distance: 2).groups == [[0, 2, 3], [1, 4]])
        #expect(HashGroups(of: hashes, distance: 0).groups.isEmpty)
        #expect(HashGroups(of: [], distance: 5).groups.isEmpty)
    }

    @Test func drawsPlaceholders() async throws {
        let text = try BlurHash(of: TestImage().image()).string
        let run = try await tool.run("hash", "--decode", text, "--size", "40x30", "-o", "out.png")
        #expect(run.status == 0 && run.output.hasPrefix("40×30, "), "\(run.errors)")
        let picture = try CodecRegistry.shared.decode(tool.contents(of: "out.png"))
        #expect(try largestDifference(picture, BlurHash(text).image(width: 40, height: 30)) == 0)

        let thumbhash = try ThumbHash(of: TestImage().image())
        #expect(try await tool.run("hash", "--decode", thumbhash.base64, "-o", "out.png").status == 0)
        let small = try CodecRegistry.shared.decode(tool.contents(of: "out.png"))
        #expect(try largestDifference(small, thumbhash.image(longestSide: 32)) <= 1)
        let piped = try await tool.run("hash", "--decode", text, "-o", "-")
        #expect(piped.status == 0 && ImageFormat(signatureOf: piped.outputData) == .png, "\(piped.errors)")
        let refused = try await tool.run("hash", "--decode", thumbhash.base64, "--only", "blurhash", "-o", "x.png")
        #expect(refused.status == 2 && refused.errors.contains("no BlurHash"))
        let both = try await tool.run("hash", "--decode", thumbhash.base64, "--size", "40x30", "-o", "x.png")
        #expect(both.status == 2 && both.errors.contains("longer side"))
    }
}
