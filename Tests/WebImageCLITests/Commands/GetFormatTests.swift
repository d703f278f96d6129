import Foundation
import Testing
import WebImage
import WebImageTestSupport

/// The format that `get --output` writes.
@Suite(.timeLimit(.minutes(3))) struct GetFormatTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    /// The formats that the tool writes, which depend on the libraries, with another extension of some.
    private static let formats: [(name: String, fileExtension: String)] = [
        ("jpeg", "jpg"), ("png", "png"), ("webp", "webp"), ("gif", "gif"), ("bmp", "bmp"), ("ico", "ico"),
        ("tiff", "tif"),
        ("jp2", "jp2"), ("heic", "heic"), ("jxl", "jxl"), ("avif", "avif"),
    ]

    /// The help that names the formats.
    private static let written = Task { try await Tool().run("convert", "--help").output }

    /// Every pair of formats that can be written, and one that can only be read.
    @Test(arguments: formats.map(\.name) + ["pnm"])
    func theExtensionNamesTheFormat(from: String) async throws {
        let written = try await Self.written.value
        if from == "pnm" {
            _ = try tool.write(Data("P6 16 12 255\n".utf8) + Data(repeating: 99, count: 16 * 12 * 3), to: "in")
        } else {
            guard written.contains(from) else { try Test.cancel("the tool was built without \(from)") }
            let input = try tool.write(TestImage(width: 16, height: 12).data(.png), to: "source.png")
            let run = try await tool.run("convert", input, "in", "--format", from)
            #expect(run.status == 0, "\(run.errors)")
        }
        let original = try tool.contents(of: "in")
        let outputs = Self.formats.filter { written.contains($0.name) }.map { ($0.name, "out.\($0.fileExtension)") }
        let runs = try await outputs.concurrentMap { [tool] in try await tool.run("get", "in", "-o", $0.1) }
        let infos = try await tool.run(["info", "--json"] + outputs.map(\.1)).objects(InfoObject.self)
        #expect(infos.count == outputs.count)
        for ((format, output), (run, info)) in zip(outputs, zip(runs, infos)) {
            #expect(run.status == 0 && run.errors.isEmpty, "\(from) to \(format): \(run.errors)")
            #expect(info.format == format && info.width == 16 && info.height == 12, "\(from) to \(format)")
            #expect(try (tool.contents(of: output) == original) == (from == format), "\(from) to \(format)")
        }
    }

    @Test func theCaseAndTheSpellingOfAnExtensionDoNotMatter() async throws {
        let data = try TestImage().data(.jpeg)
        let input = try tool.write(data, to: "in")
        for name in ["a.JPG", "a.jpeg", "a.jpe", "a.jfif"] {
            #expect(try await tool.run("get", input, "-o", name).status == 0)
            #expect(try tool.contents(of: name) == data)
        }
    }

    @Test(arguments: [("gif", 3), ("png", 3), ("webp", 3), ("jpg", 1), ("bmp", 1)])
    func anAnimationStaysAnimatedWhereItCan(fileExtension: String, frameCount: Int) async throws {
        var animation = EncodableAnimation(loopCount: 3)
        for number in 0..<3 { animation.append(try TestImage(number: number).image(), duration: .milliseconds(100)) }
        for (format, name) in [(ImageFormat.png, "in.png"), (.gif, "in.gif"), (.webp, "in.webp")] {
            let input = try tool.write(CodecRegistry.shared.encode(animation, as: format), to: name)
            let run = try await tool.run("get", input, "-o", "out.\(fileExtension)")
            #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
            let info = try await tool.run("info", "--json", "out.\(fileExtension)").object(InfoObject.self)
            #expect(info.frames == frameCount && info.loopCount == (frameCount == 3 ? 3 : nil))
        }
    }

    @Test(arguments: ["a.xyz", "a.psd"]) func anUnknownExtensionGetsAWarning(name: String) async throws {
        let data = try TestImage().data(.jpeg)
        let input = try tool.write(data, to: "in.jpg")
        let run = try await tool.run("get", input, "-o", name)
        let warning = "\(name): '.\(name.suffix(3))' names no image format; the file is jpeg."
        #expect(run.status == 0 && run.errors == "webimage: warning: \(warning)\n")
        #expect(try tool.contents(of: name) == data)
        let json = try await tool.run("get", "--json", input, "-o", name)
        #expect(try json.object(LoadObject.self).warning == warning)
        #expect(try await tool.run("get", "--quiet", input, "-o", name).errors.isEmpty)
        // With a named format there is nothing to guess.
        #expect(try await tool.run("get", input, "-o", name, "--format", "png").errors.isEmpty)
    }

    @Test func aNameWithoutExtensionGetsTheOriginal() async throws {
        let data = try TestImage().data(.jpeg)
        let input = try tool.write(data, to: "in.jpg")
        for name in ["a", ".hidden", "b.", "d.png/a"] {
            mkdir(tool.path("d.png"), 0o777)
            let run = try await tool.run("get", input, "-o", name)
            #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
            #expect(try tool.contents(of: name) == data)
        }
    }

    @Test(arguments: ["get", "convert"]) func theOptionWinsOverTheExtension(command: String) async throws {
        let input = try tool.write(TestImage().data(.jpeg), to: "in.jpg")
        let run = try await tool.run(command, input, "-o", "a.png", "--format", "webp")
        #expect(run.status == 0)
        #expect(
            run.errors == "webimage: warning: a.png: the name says png, but the file is webp, as --format demands.\n")
        #expect(try CodecRegistry.shared.info(of: tool.contents(of: "a.png")).format == .webp)
        #expect(try await tool.run(command, input, "-o", "a.webp", "--format", "webp").errors.isEmpty)
    }

    @Test func aFormatThatCannotBeWrittenIsCopiedOrRefused() async throws {
        let data = Data("P6 2 1 255\nabcdef".utf8)
        let input = try tool.write(data, to: "in.ppm")
        #expect(try await tool.run("get", input, "-o", "copy.pnm").status == 0)
        #expect(try tool.contents(of: "copy.pnm") == data)
        let png = try tool.write(TestImage().data(.png), to: "in.png")
        let run = try await tool.run("get", png, "-o", "out.ppm")
        #expect(run.status == 1 && run.errors.contains("pnm"), "\(run.errors)")
        #expect(!tool.names(in: ".").contains("out.ppm"))
    }

    /// The server's name stays, with a warning; a name of another kind of file gets an extension.
    @Test func filesInADirectoryKeepTheirBytes() async throws {
        let data = try TestImage().data(.jpeg)
        let inputs = try [tool.write(data, to: "lie.png"), tool.write(data, to: "image.php")]
        let run = try await tool.run(["get", "-o", "out"] + inputs)
        #expect(run.status == 0)
        #expect(
            run.errors
                == "webimage: warning: out/lie.png: the name says png, but the file is jpeg, as it came; --format converts it.\n"
        )
        #expect(tool.names(in: "out") == ["image.php.jpg", "lie.png"])
        #expect(try tool.contents(of: "out/lie.png") == data)
    }

    @Test func severalImagesNeedADirectory() async throws {
        let inputs = try (0..<2).map { try tool.write(TestImage(number: $0).data(.png), to: "\($0).png") }
        _ = try tool.write(Data("x".utf8), to: "file")
        for command in ["get", "convert"] {
            for name in ["all.jpg", "file", "0.png"] {
                let run = try await tool.run([command] + inputs + ["-o", name])
                #expect(run.status == 2 && run.errors.contains("several images need a directory"), "\(run.errors)")
            }
            #expect(try await tool.run([command] + inputs + ["-o", "all.jpg/"]).status == 0)
            #expect(tool.names(in: "all.jpg") == ["0.png", "1.png"])
            // It exists now.
            #expect(try await tool.run([command] + inputs + ["-o", "all.jpg"]).status == 0)
            try FileManager.default.removeItem(atPath: tool.path("all.jpg"))
        }
        #expect(try tool.contents(of: "file") == Data("x".utf8))
    }

    @Test func theInputIsNotTheOutput() async throws {
        let data = try TestImage().data(.png)
        _ = try tool.write(data, to: "a.png")
        let run = try await tool.run("get", "a.png", "-o", "./a.png", "--size", "8x")
        #expect(run.status == 2 && run.errors.contains("use 'webimage convert'"))
        #expect(try tool.contents(of: "a.png") == data)
    }

    @Test func readsDataURLsAsBrowsersDo() async throws {
        let base64 = try TestImage().data(.png).base64EncodedString()
        for address in [
            "data:image/png;base64,\(base64)",
            " data: IMAGE/PNG; base64 ,\(base64.prefix(40)) \n\(base64.dropFirst(40))#x",
            "data:,%89PNG"
                + Data(try TestImage().data(.png).dropFirst(4)).map {
                    "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16)
                }
                .joined(),
        ] {
            let run = try await tool.run("info", "--json", address)
            #expect(run.status == 0, "\(run.errors)")
            #expect(try run.object(InfoObject.self).format == "png")
            let line = try await tool.run("info", address).output
            #expect(line.contains("…: png, 64×48, ") && line.utf8.count < 128, "\(line)")
        }
    }
}
