import Foundation
import Testing
import WebImage
import WebImageTestSupport

/// Standard input and output, and messages.
@Suite(.timeLimit(.minutes(3))) struct StreamTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    @Test func readsStandardInput() async throws {
        let data = try TestImage().data(.png)
        let path = try tool.write(data, to: "in.png")
        let info = try await tool.run("info", "-", "--json", input: path)
        #expect(info.status == 0, "\(info.errors)")
        let object = try info.object(InfoObject.self)
        #expect(object.url == "-" && object.format == "png" && object.bytes == data.count)
        #expect(try await tool.run("info", "-", input: path).output.hasPrefix("standard input: png, 64×48"))

        let get = try await tool.run("get", "-", "-o", "copy.png", "--json", input: path)
        #expect(try get.object(LoadObject.self).source == "stdin")
        #expect(try tool.contents(of: "copy.png") == data)
        #expect(try await tool.run("get", "-", "-o", "dir/", input: path).status == 0)
        #expect(tool.names(in: "dir") == ["stdin.png"])

        #expect(try await tool.run("convert", "-", "out.webp", "--lossless", input: path).status == 0)
        let decoded = try CodecRegistry.shared.decode(tool.contents(of: "out.webp"))
        #expect(largestDifference(decoded, try TestImage().image()) == 0)
    }

    @Test func writesToStandardOutput() async throws {
        let data = try TestImage().data(.png)
        let path = try tool.write(data, to: "in.png")
        let get = try await tool.run("get", path, "-o", "-")
        #expect(get.status == 0 && get.errors.isEmpty)
        #expect(get.outputData == data, "the image and nothing else")

        let convert = try await tool.run("convert", "-", "-", "--format", "jpeg", "--size", "16x", input: path)
        #expect(convert.status == 0, "\(convert.errors)")
        let info = try CodecRegistry.shared.info(of: convert.outputData)
        #expect(info.format == .jpeg && info.size == PixelSize(width: 16, height: 12))
        #expect(tool.names(in: ".").filter { $0.hasPrefix("-") }.isEmpty)
    }

    @Test func aFileCanBeNamedLikeAStream() async throws {
        _ = try tool.write(TestImage().data(.png), to: "-")
        #expect(try await tool.run("convert", "./-", "./-", "--format", "jpeg").status == 0)
        #expect(try CodecRegistry.shared.info(of: tool.contents(of: "-")).format == .jpeg)
    }

    // MARK: Long files

    /// An image in a file of 201 MiB, of which nearly nothing takes space on the disk.
    private func writeLongFile(_ name: String) throws -> String {
        let pixels = Data(repeating: 200, count: 64 * 48 * 3)
        let path = try tool.write(Data("P6 64 48 255\n".utf8) + pixels, to: name)
        #expect(truncate(path, 201 << 20) == 0)
        return path
    }

    @Test(arguments: [
        ["info"], ["get"], ["convert", "out.png"], ["thumbnail", "out.png", "32"], ["animate", "out.gif"],
    ]) func aFileMayHaveAnyLength(arguments: [String]) async throws {
        let path = try writeLongFile("long.ppm")
        let run = try await tool.run([arguments[0], path] + arguments.dropFirst())
        #expect(run.status == 0, "\(run.errors)")
        if arguments.count > 1 {
            #expect(try CodecRegistry.shared.info(of: tool.contents(of: arguments[1])).size.width > 0)
        }
    }

    @Test func moreThanStandardInputBringsIsReadFromAFile() async throws {
        let path = try writeLongFile("long.ppm")
        let run = try await tool.run("convert", "-", "out.png", input: path)
        #expect(run.status == 1 && run.errors.contains("standard input: "), "\(run.errors)")
        #expect(
            run.errors.hasSuffix("at most 200 MiB. Write it to a file, which may be longer, and name that.\n"),
            "\(run.errors)")
    }

    @Test(arguments: [["info", "-"], ["get", "-"], ["convert", "-", "out.png"]])
    func standardInputWithoutAnImageFails(arguments: [String]) async throws {
        let empty = try await tool.run(arguments)
        #expect(empty.status == 1)
        #expect(empty.errors.contains("standard input: ") && empty.errors.contains("the file is empty"))
        let text = try tool.write(Data("no image".utf8), to: "text")
        let handle = try #require(FileHandle(forReadingAtPath: text))
        let run = try await tool.start(arguments, input: handle).wait()
        #expect(run.status == 1)
        #expect(run.errors.contains("standard input"))
        #expect(tool.names(in: ".").contains("out.png") == false)
    }

    @Test func quietPrintsErrorsOnly() async throws {
        let path = try tool.write(TestImage().data(.png), to: "in.png")
        // Makes the cache, which commands on files do not need.
        let url = "data:image/png;base64," + (try TestImage().data(.png).base64EncodedString())
        for arguments in [
            ["get", "-q", url], ["get", "--quiet", path, "-o", "a.png"], ["info", "--quiet", path],
            ["convert", "--quiet", path, path, "-o", "dir"], ["cache", "--quiet", "stats"],
        ] {
            let run = try await tool.run(arguments)
            #expect(run.status == 0 && run.output.isEmpty && run.errors.isEmpty, "\(arguments): \(run)")
        }
        for command in ["get", "info"] {
            let run = try await tool.run(command, "--quiet", path, "missing.png")
            #expect(run.status == 1 && run.output.isEmpty)
            #expect(run.errors.contains("missing.png"))
        }
    }

    // MARK: No clobber

    @Test(arguments: [
        ["get", "in.png", "-o", "out.png"], ["convert", "in.png", "out.png"],
        ["convert", "in.png", "-o", "out.png"], ["convert", "in.png", "in.png"],
    ])
    func noClobberKeepsAnExistingFile(arguments: [String]) async throws {
        let data = try TestImage().data(.png)
        let old = try TestImage(number: 1).data(.png)
        _ = try tool.write(data, to: "in.png")
        _ = try tool.write(old, to: "out.png")
        let run = try await tool.run(arguments + ["--no-clobber"])
        #expect(run.status == 1)
        #expect(run.errors.contains("File exists"), "\(run.errors)")
        #expect(try tool.contents(of: "out.png") == old)
        #expect(try tool.contents(of: "in.png") == data)
        #expect(tool.names(in: ".").filter { $0.hasSuffix(".part") }.isEmpty)
    }

    @Test func noClobberWritesMissingFiles() async throws {
        let path = try tool.write(TestImage().data(.png), to: "in.png")
        #expect(try await tool.run("get", path, "-o", "out.png", "--no-clobber").status == 0)
        #expect(try await tool.run("convert", path, "other.webp", "--no-clobber").status == 0)
        #expect(try tool.contents(of: "out.png") == TestImage().data(.png))
        let again = try await tool.run("get", path, "missing.png", "-o", "dir", "--no-clobber")
        #expect(again.status == 1 && tool.names(in: "dir") == ["in.png"])
        let second = try await tool.run("get", path, "-o", "dir/", "--no-clobber", "--json")
        #expect(try second.object(LoadObject.self).source == "none", "nothing is loaded that could not be written")
    }

    @Test func noClobberNeedsNoLoad() async throws {
        let root = try TemporaryDirectory()
        let server = try NGINXServer(root: root.path)
        try root.write(TestImage().data(.png), to: "a.png")
        _ = try tool.write(Data("old".utf8), to: "a.png")
        let run = try await tool.run("get", server.url("/a.png").absoluteString, "-o", "a.png", "--no-clobber")
        #expect(run.status == 1)
        #expect(try await server.accessLog().isEmpty)
    }

    // MARK: Several inputs

    @Test func convertsSeveralFilesIntoADirectory() async throws {
        for number in 1...3 { _ = try tool.write(TestImage(number: number).data(.png), to: "\(number)/a.png") }
        let inputs = (1...3).map { tool.path("\($0)/a.png") }
        let run = try await tool.run(["convert", "-o", "out", "--format", "webp", "--lossless", "--json"] + inputs)
        #expect(run.status == 0, "\(run.errors)")
        let objects = try run.objects(ConversionObject.self)
        #expect(Set(objects.map(\.input)) == Set(inputs))
        #expect(tool.names(in: "out") == ["a-2.webp", "a-3.webp", "a.webp"])
        for (number, name) in [(1, "a.webp"), (2, "a-2.webp"), (3, "a-3.webp")] {
            let image = try CodecRegistry.shared.decode(tool.contents(of: "out/" + name))
            #expect(largestDifference(image, try TestImage(number: number).image()) == 0)
            #expect(objects.first { $0.input == inputs[number - 1] }?.path == "out/" + name)
        }
    }

    @Test func eachInputKeepsItsFormatByDefault() async throws {
        let inputs = try [
            tool.write(TestImage().data(.png), to: "a.png"), tool.write(TestImage().data(.jpeg), to: "b.jpg"),
            tool.write(TestImage.animation, to: "c.gif"),
        ]
        let run = try await tool.run(["convert", "--output", "out/", "--size", "32x"] + inputs)
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.split(separator: "\n").count == 3)
        #expect(run.output.contains("a.png: png, 32×24, ") && run.output.contains("→ out/a.png"))
        #expect(tool.names(in: "out") == ["a.png", "b.jpg", "c.gif"])
        #expect(
            try CodecRegistry.shared.info(of: tool.contents(of: "out/b.jpg")).size == PixelSize(width: 32, height: 24))
    }

    @Test func oneFailureOfSeveralDoesNotStopTheOthers() async throws {
        let good = try tool.write(TestImage().data(.png), to: "good.png")
        let bad = try tool.write(TestImage.damaged(), to: "bad.png")
        let run = try await tool.run("convert", bad, good, "missing.png", "-o", "out/", "--format", "jpeg")
        #expect(run.status == 1)
        #expect(run.errors.contains("bad.png") && run.errors.contains("missing.png"))
        #expect(tool.names(in: "out") == ["good.jpg"])
    }

    @Test func outputsDoNotReplaceInputs() async throws {
        let data = try TestImage().data(.png)
        _ = try tool.write(data, to: "a.png")
        for arguments in [["convert", "a.png", "-o", "."], ["convert", "a.png", "."]] {
            let run = try await tool.run(arguments + ["--size", "8x"])
            #expect(run.status == 1 && run.errors.contains("File exists"))
        }
        #expect(try tool.contents(of: "a.png") == data)
    }

    @Test(arguments: ["jpeg", "webp", "bmp"]) func standardOutputKeepsTheFormatOfTheInput(format: String) async throws {
        let input = try tool.write(
            CodecRegistry.shared.encode(TestImage().image(), as: try #require(ImageFormat(named: format))), to: "in")
        let run = try await tool.run("convert", "-", "-", "--size", "32x", input: input)
        #expect(run.status == 0, "\(run.errors)")
        let info = try CodecRegistry.shared.info(of: run.outputData)
        #expect(info.format.name == format && info.size == PixelSize(width: 32, height: 24))
    }
}
