import Foundation
import Testing
import WebImage
import WebImageTestSupport

/// Commands that read and write in separate processes.
@Suite(.timeLimit(.minutes(3))) struct IsolationTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    @Test func explainsWhereAFileWasRead() async throws {
        let path = try tool.write(TestImage().data(.png), to: "a.png")
        let own = try await tool.run("info", "--explain", path)
        #expect(own.output.contains("\n  read in this process\nisolation: /"))
        let isolated = try await tool.run("info", "--explain", "--isolated", path)
        #expect(isolated.output.contains("\n  read in a separate process\nisolation: /"))
        // Of the layers, this one depends least on the kernel.
        #expect(isolated.output.contains("\n  system call filter\n"))

        let object = try await tool.run("info", "--explain", "--isolated", "--json", path).object(InfoObject.self)
        let isolation = try #require(object.isolation)
        #expect(isolation.isolated == true && isolation.problem == nil)
        #expect(isolation.program?.hasSuffix("/webimage-decoder") == true)
        #expect(Set(isolation.layers + isolation.missing.keys) == Set(SandboxLayer.allCases.map(\.rawValue)))
        #expect(try await tool.run("info", "--json", path).object(InfoObject.self).isolation == nil)
    }

    @Test func aLoadSaysWhereItsImageWasDecoded() async throws {
        let path = try tool.write(TestImage().data(.png), to: "a.png")
        #expect(
            try await tool.run("get", "--explain", "--isolated", path).output.contains("png, in a separate process"))
        #expect(try await !tool.run("get", "--explain", path).output.contains("process"))
    }

    /// librsvg would take minutes for either. Programs with JPEG 2000 have SVG as well.
    @Test(
        Tool.canWrite(.jpeg2000),
        arguments: [
            "<style>\((0..<20_000).map { "g g g g g g rect:nth-child(\($0)){}" }.joined())</style>"
                + "\(String(repeating: "<g>", count: 10))\(String(repeating: "<rect/>", count: 5000))\(String(repeating: "</g>", count: 10))",
            "<filter id='f'><feGaussianBlur stdDeviation='50'/></filter>"
                + String(repeating: "<rect width='999' height='999' filter='url(#f)'/>", count: 5000),
        ])
    func readingEndsAfterTheTimeOfTheOption(content: String) async throws {
        let text = "<svg xmlns='http://www.w3.org/2000/svg' width='999' height='999'>\(content)</svg>"
        let path = try tool.write(Data(text.utf8), to: "a.svg")
        let run = try await tool.run("convert", path, "a.png", "--max-decode-time", "1")
        #expect(
            run.status == 1
                && run.errors.hasSuffix(
                    "took more than the 1 s of processor time allowed. For a file you trust: a longer --max-decode-time.\n"
                ), "\(run.errors)")
        // The size needs no drawing. Until 2.54, librsvg applies the style sheet before it tells the size.
        let info = try await tool.run("info", path, "--max-decode-time", "1")
        #expect(info.status == 0 || content.contains("style"), "\(info.errors)")
        #expect(
            info.status == 0 || info.errors.contains("took more than the 1 s of processor time"), "\(info.errors)")
    }

    @Test func isolatedFilesAreTheSame() async throws {
        let path = try tool.write(TestImage(width: 300, height: 200).data(.png), to: "a.png")
        for format in ["jpeg", "png", "webp", "gif", "bmp"] {
            let own = try await tool.run("convert", path, "own", "--size", "99x", "--format", format)
            let isolated = try await tool.run(
                "convert", path, "isolated", "--size", "99x", "--format", format, "--isolated")
            #expect(own.status == 0 && isolated.status == 0, "\(isolated.errors)")
            #expect(try tool.contents(of: "own") == tool.contents(of: "isolated"), "\(format)")
        }
        let animation = try tool.write(TestImage.animation, to: "a.gif")
        #expect(try await tool.run("convert", "--isolated", animation, "a.webp").status == 0)
        #expect(try CodecRegistry.shared.info(of: tool.contents(of: "a.webp")).frameCount == 2)
    }

    @Test(.enabled(if: !RunningTool.isDecoderInstalled, "webimage-decoder is installed"))
    func withoutTheDecoderOnlyItsFormatsFail() async throws {
        let program = tool.path("webimage")
        try FileManager.default.copyItem(atPath: RunningTool.program.path, toPath: program)
        let path = try tool.write(TestImage().data(.png), to: "a.png")
        #expect(try await tool.run(program: [program, "convert", path, tool.path("a.jpg")]).status == 0)

        let isolated = try await tool.run(program: [program, "convert", "--isolated", path, tool.path("b.jpg")])
        #expect(isolated.status == 1)
        #expect(isolated.errors.contains("webimage-decoder is not in \(tool.path("webimage-decoder")), "))
        #expect(
            isolated.errors.hasSuffix("Install webimage-decoder with its libraries, or put it beside this program.\n"))
        #expect(tool.names(in: "") == ["a.jpg", "a.png", "webimage"])

        let explained = try await tool.run(program: [program, "info", "--explain", path])
        #expect(explained.output.contains("\nisolation: none, because webimage-decoder is not in "))
    }

    @Test(.enabled(if: Tool.canTrace, "needs strace")) func theToolLoadsNoLibraryOfTheDecoder() async throws {
        let path = try tool.write(TestImage().data(.png), to: "a.png")
        let trace = tool.path("strace.txt")
        let strace = ["/usr/bin/strace", "-e", "trace=openat", "-o", trace, RunningTool.program.path]
        #expect(try await tool.run(program: strace + ["info", path]).status == 0)
        let opened = try String(decoding: tool.contents(of: "strace.txt"), as: UTF8.self)
        #expect(opened.contains("libpng"))
        for library in ["libheif", "libavif", "libjxl", "libtiff", "libopenjp2", "librsvg", "libseccomp"] {
            #expect(!opened.contains(library), "\(library)")
        }
    }
}
