import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding
@testable import WebImageFormats

/// The memory that liblzma takes before it decodes a byte.
@Suite(.timeLimit(.minutes(3)), .enabled(if: LibraryFormat.tiff.isBuilt, "needs libtiff")) struct TIFFDictionaryTests {
    private let registry = FormatFiles.registry

    /// A stream of xz whose blocks say how large their dictionaries are. Each has as many chunks of a byte.
    private static func xz(dictionaries: [UInt8], chunkCount: Int = 1) -> [UInt8] {
        let chunks = Array(repeating: [1, 0, 0, 7] as [UInt8], count: chunkCount).flatMap(\.self)
        let blocks = dictionaries.flatMap { bits -> [UInt8] in
            // A header, the chunks, their end with padding, and a checksum.
            [2, 0, 0x21, 1, bits, 0, 0, 0, 0, 0, 0, 0] + chunks + [0, 0, 0, 0] + [0, 0, 0, 0]
        }
        return [0xFD] + Array("7zXZ".utf8) + [0, 0, 1, 0, 0, 0, 0] + blocks + [0, 0, 0, 0]
    }

    private func isOverTheMemoryLimit(_ tiff: TIFFBytes) -> Bool {
        let error = #expect(throws: WebImageError.self) { try registry.decode(tiff.data) }
        guard case .limitExceeded(.memory(let byteCount, _), _) = error else { return false }
        return byteCount > 1 << 30
    }

    /// 4 GiB, and 3 GiB, also in a later block.
    @Test(arguments: [[40], [39], [0, 40], [10, 12, 39]] as [[UInt8]])
    func isCounted(dictionaries: [UInt8]) {
        var tiff = TIFFBytes(width: 1, height: 1, compression: 34925)
        tiff.strips = [Self.xz(dictionaries: dictionaries)]
        #expect(isOverTheMemoryLimit(tiff))
        // A later strip.
        tiff.height = 2
        tiff.entries = [(278, 3, [1])]
        tiff.strips.insert(Self.xz(dictionaries: [0]), at: 0)
        #expect(isOverTheMemoryLimit(tiff))
    }

    @Test(.timeLimit(.minutes(1))) func blocksThatShareTheirBytesAreRefused() {
        let stream = Self.xz(dictionaries: [0], chunkCount: 100_000)
        var tiff = TIFFBytes(width: 1, height: 60_000, compression: 34925)
        tiff.strips = [stream]
        tiff.entries = [
            (278, 3, [1]), (273, 4, Array(repeating: 8, count: tiff.height)),
            (279, 4, Array(repeating: stream.count, count: tiff.height)),
        ]
        #expect(isOverTheMemoryLimit(tiff))
    }

    @Test(.enabled(if: OtherProgram.isInstalled("/usr/bin/tiffcp"), "needs tiffcp"))
    func usualFilesAreRead() throws {
        let files = try FormatFiles()
        var tiff = TIFFBytes(width: 40, height: 30)
        tiff.strips = [(0..<3600).map { UInt8(truncatingIfNeeded: $0 * $0 >> 3) }]
        try files.directory.write(tiff.data, to: "a.tif")
        try OtherProgram.run("/usr/bin/tiffcp", ["-c", "lzma", "-r", "8", files.path("a.tif"), files.path("b.tif")])
        let data = try Data(contentsOf: URL(filePath: files.path("b.tif")))
        #expect(Pixels(try registry.decode(data).pixels) == Pixels(try registry.decode(tiff.data).pixels))
    }
}
