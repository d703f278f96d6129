import CWebImageGLib
import Foundation
import ProgramSupport
import Testing
import WebImage
import WebImageCore
import WebImageTestSupport

@testable import WebImageCLI

/// Thumbnails as the freedesktop standard wants them.
@Suite(.timeLimit(.minutes(3))) struct ThumbnailTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    private func modified(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return Int(try #require(attributes[.modificationDate] as? Date).timeIntervalSince1970.rounded(.down))
    }

    private func permissions(_ name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: tool.path(name))
        return try #require(attributes[.posixPermissions] as? Int)
    }

    /// The name of the thumbnail of a URI, by another implementation.
    private func name(ofURI uri: String) async throws -> String {
        let run = try await tool.run(program: ["/bin/bash", "-c", "printf %s \"$1\" | md5sum", "bash", uri])
        return run.output.prefix(32) + ".png"
    }

    @Test func describesTheImageInThePNG() async throws {
        let path = try tool.write(TestImage(width: 300, height: 200).data(.jpeg), to: "a b.jpg")
        let uri = "file://" + tool.path("a%20b.jpg")
        let run = try await tool.run("thumbnail", uri, "out.png", "large")
        #expect(run.status == 0 && run.output.isEmpty && run.errors.isEmpty, "\(run.errors)")
        let file = try tool.contents(of: "out.png")
        let byteCount = try tool.contents(of: "a b.jpg").count
        #expect(
            ThumbnailFile.properties(of: file) == [
                "Thumb::URI": uri, "Thumb::MTime": "\(try modified(path))", "Thumb::Size": "\(byteCount)",
                "Thumb::Image::Width": "300", "Thumb::Image::Height": "200",
                "Software": "webimage \(LibraryVersion.text)",
            ])
        #expect(try permissions("out.png") == 0o600)
        let info = try CodecRegistry.shared.info(of: file)
        #expect(info.format == .png && info.size == PixelSize(width: 256, height: 171))
        // Another program finds the chunks and their checksums valid.
        let check = try await tool.run(program: ["/usr/bin/pngcheck", "-t", "out.png"])
        #expect(check.status == 0 && check.output.contains("Thumb::URI"), "\(check.output)")
    }

    /// Another program may have written it, and been interrupted.
    @Test func readsAsMuchOfADamagedThumbnailAsThereIs() throws {
        let file = ThumbnailFile.adding([("a", "b"), ("c", "d")], to: try TestImage().data(.png))
        // The header ends at 33, and each text takes 15 bytes.
        for count in 0..<100 {
            let properties = ThumbnailFile.properties(of: file.prefix(count))
            #expect(properties == (count < 48 ? [:] : count < 63 ? ["a": "b"] : ["a": "b", "c": "d"]), "\(count)")
        }
        var long = file
        long[48] = 0x7F
        #expect(ThumbnailFile.properties(of: long) == ["a": "b"])
    }

    @Test(arguments: [
        ("normal", 128), ("large", 256), ("x-large", 512), ("xx-large", 1024), ("128", 128), ("7", 7), ("1024", 1024),
    ])
    func scales(size: String, side: Int) async throws {
        let path = try tool.write(TestImage(width: 2048, height: 1024).data(.png), to: "a.png")
        #expect(try await tool.run("thumbnail", path, "out.png", size).status == 0)
        let info = try CodecRegistry.shared.info(of: tool.contents(of: "out.png"))
        #expect(info.size == PixelSize(width: side, height: (side + 1) / 2))
    }

    @Test(arguments: ["jpeg", "png", "webp", "gif", "bmp", "ico", "avif", "heic", "jxl", "tiff", "jp2"])
    func readsEveryFormat(format: String) async throws {
        let photo = try tool.write(TestImage(width: 200, height: 100).data(.png), to: "photo.png")
        let run = try await tool.run("convert", photo, "a", "--format", format)
        // The tool may be built without some of the formats.
        if run.status == 2, run.errors.contains("--format takes ") { return }
        #expect(run.status == 0, "\(run.errors)")
        let made = try await tool.run("thumbnail", "a", "out.png", "40")
        #expect(made.status == 0, "\(made.errors)")
        #expect(
            try CodecRegistry.shared.info(of: tool.contents(of: "out.png")).size == PixelSize(width: 40, height: 20))
    }

    @Test func neverEnlarges() async throws {
        let path = try tool.write(TestImage(width: 20, height: 10).data(.png), to: "a.png")
        #expect(try await tool.run("thumbnail", path, "out.png", "normal").status == 0)
        let image = try CodecRegistry.shared.decode(tool.contents(of: "out.png"))
        #expect(largestDifference(image, try TestImage(width: 20, height: 10).image()) == 0)
    }

    @Test func takesTheFirstFrameOfAnAnimation() async throws {
        let path = try tool.write(TestImage.animation, to: "a.gif")
        #expect(try await tool.run("thumbnail", path, "out.png", "normal").status == 0)
        #expect(try CodecRegistry.shared.info(of: tool.contents(of: "out.png")).frameCount == 1)
    }

    @Test func servicesCanReadFromTheFileThatTheyHaveOpened() async throws {
        let path = try tool.write(TestImage().data(.png), to: "a.png")
        let output = try tool.write(Data(repeating: 1, count: 100_000), to: "out.png")
        let opened = try #require(FileHandle(forReadingAtPath: output))
        #expect(try await tool.run("thumbnail", path, output, "normal").status == 0)
        let read = try opened.readToEnd()
        #expect(try read == tool.contents(of: "out.png"))
        #expect(
            try CodecRegistry.shared.info(of: tool.contents(of: "out.png")).size == PixelSize(width: 64, height: 48))
        #expect(try permissions("out.png") == 0o600)
    }

    @Test func fillsAFolderOfTheStandard() async throws {
        let path = try tool.write(TestImage(width: 300, height: 200).data(.png), to: "ä.png")
        // With the folder's parents, which are private.
        #expect(try await tool.run("thumbnail", path, "thumbnails/", "large").status == 0)
        let uri = "file://" + tool.path("%C3%A4.png")
        #expect(tool.names(in: "thumbnails/large") == [try await name(ofURI: uri)])
        #expect(tool.names(in: "thumbnails") == ["large"])
        #expect(try permissions("thumbnails/large") == 0o700 && permissions("thumbnails") == 0o700)
    }

    @Test func keepsACurrentThumbnailOfAFolder() async throws {
        let path = try tool.write(TestImage(width: 300, height: 200).data(.png), to: "a.png")
        #expect(try await tool.run("thumbnail", path, "thumbnails/", "normal").status == 0)
        let name = "thumbnails/normal/" + (try #require(tool.names(in: "thumbnails/normal").first))
        func inode() throws -> Int {
            let attributes = try FileManager.default.attributesOfItem(atPath: tool.path(name))
            return try #require(attributes[.systemFileNumber] as? Int)
        }
        let first = try inode()
        #expect(try await tool.run("thumbnail", path, "thumbnails", "128").status == 0)
        #expect(try inode() == first)
        #expect(try await tool.run("thumbnail", path, "thumbnails", "128", "--force").status == 0)
        let second = try inode()
        #expect(second != first)
        let date = Date(timeIntervalSince1970: 1_000_000_000)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
        #expect(try await tool.run("thumbnail", path, "thumbnails", "128").status == 0)
        #expect(try inode() != second)
        #expect(ThumbnailFile.properties(of: try tool.contents(of: name))["Thumb::MTime"] == "1000000000")
    }

    @Test func remembersAFailureUntilTheFileChanges() async throws {
        let path = try tool.write(Data("no image".utf8), to: "a.png")
        let first = try await tool.run("thumbnail", path, "thumbnails/", "normal")
        #expect(first.status == 1 && !first.errors.contains("failed before"))
        let folder = "thumbnails/fail/webimage-\(LibraryVersion.text)"
        let failure = try #require(tool.names(in: folder).first)
        #expect(failure == (try await name(ofURI: "file://" + path)))
        #expect(try permissions("\(folder)/\(failure)") == 0o600)
        let properties = ThumbnailFile.properties(of: try tool.contents(of: "\(folder)/\(failure)"))
        #expect(properties["Thumb::URI"] == "file://" + path)
        #expect(properties["Thumb::MTime"] == "\(try modified(path))")

        let again = try await tool.run("thumbnail", path, "thumbnails", "normal")
        #expect(again.status == 1 && again.errors.contains("failed before, and has not changed"))
        // File managers name the file itself.
        let file = tool.path("thumbnails/large/\(failure)")
        #expect(try await tool.run("thumbnail", path, file, "large").errors.contains("failed before"))
        #expect(try await !tool.run("thumbnail", path, file, "large", "--force").errors.contains("failed before"))

        _ = try tool.write(TestImage().data(.png), to: "a.png")
        let date = Date(timeIntervalSince1970: 1_000_000_000)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
        #expect(try await tool.run("thumbnail", path, file, "large").status == 0)
        #expect(tool.names(in: "thumbnails/large") == [failure])
        #expect(tool.names(in: folder).isEmpty)
    }

    @Test func elsewhereAFailureLeavesNothing() async throws {
        let path = try tool.write(TestImage.claimingTooMuch().prefix(100), to: "a.jpg")
        #expect(try await tool.run("thumbnail", path, "out.png", "normal").status == 1)
        #expect(try await tool.run("thumbnail", tool.path("missing.png"), "thumbnails/", "normal").status == 1)
        #expect(tool.names(in: "") == ["a.jpg"])
    }

    @Test(.enabled(if: !RunningTool.isDecoderInstalled, "webimage-decoder is installed"))
    func withoutTheDecoderNothingIsDecodedNorRemembered() async throws {
        let program = tool.path("webimage")
        try FileManager.default.copyItem(atPath: RunningTool.program.path, toPath: program)
        let path = try tool.write(TestImage().data(.png), to: "a.png")
        let run = try await tool.run(program: [program, "thumbnail", path, "thumbnails/", "normal"])
        #expect(run.status == 1 && run.errors.contains("webimage-decoder is not in "))
        #expect(tool.names(in: "") == ["a.png", "webimage"])
    }

    @Test(arguments: [
        (["a.png", "out.png"], "takes an image, OUT and SIZE"),
        (["-", "out.png", "128"], "standard input is not a file"),
        (["http://127.0.0.1/a.png", "out.png", "128"], "http://127.0.0.1/a.png is not a file"),
        (["a.png", "out.png", "huge"], "not 'huge'"), (["a.png", "out.png", "1025"], "not '1025'"),
        (["a.png", "folder/", "100"], "of 128, 256, 512 and 1024 pixels, not 100"),
    ])
    func refusesOtherArguments(arguments: [String], message: String) async throws {
        _ = try tool.write(TestImage().data(.png), to: "a.png")
        let run = try await tool.run(["thumbnail"] + arguments)
        #expect(run.status == 2 && run.errors.contains(message), "\(run.errors)")
        #expect(tool.names(in: "") == ["a.png"])
    }

    /// GLib and file managers compute the same URI.
    @Test func namesFilesAsGLibDoes() throws {
        for path in ["/a/ä !$&'()*+,-./:=@_~.png", "/a/#?%;[]\"<>\\^`{|}.png"] {
            let uri = try #require(g_filename_to_uri(path, nil, nil))
            defer { g_free(uri) }
            #expect(ThumbnailSource(SystemString(path))?.uri == String(cString: uri))
        }
    }

    /// A bitmap of 1 bit a pixel, so that the file is much shorter than its pixels.
    private static func bitmap(_ format: ImageFormat, _ size: PixelSize) -> Data {
        let pixels = Data(repeating: 0x5A, count: (size.width + 31) / 32 * 4 * size.height)
        if format == .pnm { return Data("P4 \(size.width) \(size.height)\n".utf8) + pixels }
        func bytes(_ values: UInt32...) -> Data {
            values.reduce(into: Data()) { data, value in withUnsafeBytes(of: value.littleEndian) { data += $0 } }
        }
        // One plane, and 1 bit a pixel; two colors.
        return Data("BM".utf8) + bytes(UInt32(62 + pixels.count), 0, 62, 40, UInt32(size.width), UInt32(size.height))
            + bytes(1 | 1 << 16, 0, 0, 0, 0, 2, 0, 0, 0xFF_FFFF) + pixels
    }

    @Test(arguments: [ImageFormat.png, .jpeg, .webp, .bmp, .pnm])
    func aLargeImageIsNeverInMemoryAsAWhole(format: ImageFormat) throws {
        let size = PixelSize(width: 8000, height: 6000)
        let file =
            [.bmp, .pnm].contains(format)
            ? Self.bitmap(format, size) : try TestImage(width: size.width, height: size.height).data(format)
        try checkPeak(of: file, size)
    }

    @Test(Tool.canWrite(.jpeg2000)) func aLargeJPEG2000IsNeverInMemoryAsAWhole() async throws {
        let size = PixelSize(width: 6000, height: 4500)
        let bitmap = try tool.write(Self.bitmap(.pnm, size), to: "a.pbm")
        #expect(try await tool.run("convert", bitmap, "a.jp2").status == 0)
        try checkPeak(of: tool.contents(of: "a.jp2"), size)
    }

    /// Checks that the process that makes a thumbnail has less memory than half of the pixels.
    private func checkPeak(of file: Data, _ size: PixelSize) throws {
        let isolation = IsolatedDecoding()
        let others = Set(Self.descendants)
        let large = try #require(ThumbnailSize("large"))
        let result = try ThumbnailRenderer(isolation: isolation).thumbnail(
            of: file, fitting: large, limits: InputLimits().limits(for: ImageInput(SystemString("a"))))
        #expect(result.size == size)
        let peaks = Set(Self.descendants).subtracting(others).map { ProcessMemory(of: $0).peakByteCount }
        let peak = try #require(peaks.max())
        // Including libraries and the file.
        #expect(peak > 1 << 20 && peak < size.pixelByteCount / 2, "\(peak >> 20) MiB")
        withExtendedLifetime(isolation) {}
    }

    private static var descendants: [Int32] {
        func below(_ process: Int32) -> [Int32] { ChildProcesses.of(process).flatMap { [$0] + below($0) } }
        return below(getpid())
    }

    @Test(arguments: ["pipe 64", "thumbnails/ large"]) func aPipeThatNothingReadsIsNotWaitedFor(operands: String)
        async throws
    {
        let path = try tool.write(TestImage().data(.png), to: "a.png")
        let name = try await name(ofURI: "file://" + path)
        let run = try await tool.run(
            script: """
                mkfifo pipe; mkdir -p thumbnails/large; mkfifo thumbnails/large/\(name)
                timeout 20 "$tool" thumbnail a.png \(operands)
                """)
        #expect(run.status == 1 && run.errors.hasSuffix("Nothing reads from it.\n"), "\(run.status) \(run.errors)")
    }

    @Test func aPipeThatIsReadGetsTheThumbnail() async throws {
        _ = try tool.write(TestImage().data(.png), to: "a.png")
        let run = try await tool.run(
            script: "mkfifo pipe; cat pipe > out.png & exec 3>pipe; \"$tool\" thumbnail a.png pipe 32; exec 3>&-; wait")
        #expect(run.errors.isEmpty, "\(run.errors)")
        #expect(
            try CodecRegistry.shared.info(of: tool.contents(of: "out.png")).size == PixelSize(width: 32, height: 24))
    }

    @Test func foldersOfTheOutputAreMade() async throws {
        let path = try tool.write(TestImage().data(.png), to: "a.png")
        #expect(try await tool.run("thumbnail", path, "new/deep/out.png", "32").status == 0)
        #expect(tool.names(in: "new/deep") == ["out.png"])
        let run = try await tool.run("thumbnail", path, "cache/thumbnails", "large")
        #expect(run.status == 0, "\(run.errors)")
        #expect(tool.names(in: "cache/thumbnails/large") == [try await name(ofURI: "file://" + path)])
        // A number, or a name with an extension, is for a file.
        #expect(try await tool.run("thumbnail", path, "file", "256").status == 0)
        #expect(try await tool.run("thumbnail", path, "b.png", "large").status == 0)
        #expect(try CodecRegistry.shared.info(of: tool.contents(of: "file")).format == .png)
        #expect(try CodecRegistry.shared.info(of: tool.contents(of: "b.png")).format == .png)
    }
}
