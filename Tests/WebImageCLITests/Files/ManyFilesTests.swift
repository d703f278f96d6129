import Foundation
import ProgramSupport
import Testing
import WebImage
import WebImageCore

@testable import WebImageCLI

/// Folders, lists, and templates for names.
@Suite(.timeLimit(.minutes(3))) struct ManyFilesTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        let image = try TestImage().data(.png)
        for name in ["in/10.png", "in/2.png", "in/b/2.png", "in/b/c/deep.png", "in/.hidden/x.png", "in/.y.png"] {
            _ = try tool.write(image, to: name)
        }
        _ = try tool.write(Data("text".utf8), to: "in/notes.txt")
    }

    private func size(of name: String) throws -> PixelSize {
        try CodecRegistry.shared.info(of: tool.contents(of: name)).size
    }

    @Test func convertsFoldersIntoFolders() async throws {
        let run = try await tool.run("convert", "--recursive", "in", "--format=jpeg", "--size=16", "-o", "out/")
        #expect(run.status == 0, "\(run.errors)")
        #expect(tool.names(in: "out") == ["10.jpg", "2.jpg", "b"])
        #expect(tool.names(in: "out/b") == ["2.jpg", "c"] && tool.names(in: "out/b/c") == ["deep.jpg"])
        #expect(try size(of: "out/b/c/deep.jpg") == PixelSize(width: 16, height: 12))
        #expect(run.output.split(separator: "\n").count == 4)
    }

    /// A folder may have one image today and several tomorrow.
    @Test(arguments: [["--recursive", "one"], ["--from-file", "list.txt"]], ["convert", "get"])
    func aFolderOrAListWithOneImageIsWrittenIntoAFolder(input: [String], command: String) async throws {
        _ = try tool.write(TestImage().data(.png), to: "one/a.png")
        _ = try tool.write(Data("one/a.png\n".utf8), to: "list.txt")
        for (options, name) in [([], "a.png"), (["--format=webp"], "a.webp")] {
            let run = try await tool.run([command] + input + options + ["-o", "out"])
            #expect(run.status == 0, "\(run.errors)")
            #expect(tool.names(in: "out").contains(name))
        }
        let run = try await tool.run([command] + input + ["-o", "b.png"])
        #expect(run.status == 2 && run.errors.contains("'b.png/' a directory"), "\(run.errors)")
        #expect(try await tool.run("convert", "one/a.png", "b.png").status == 0)
    }

    @Test(.enabled(if: Tool.canBeAStranger, "needs to become another user"))
    func aFolderThatCannotBeReadDoesNotEndTheRun() async throws {
        for folder in ["", "in", "in/b", "in/b/c"] { chmod(tool.path(folder), 0o755) }
        let closed = tool.path("in/b/closed")
        try FileManager.default.createDirectory(atPath: closed, withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: tool.path("out"), withIntermediateDirectories: true)
        chmod(tool.path("out"), 0o777)
        chmod(closed, 0)
        defer { chmod(closed, 0o755) }
        let input = tool.path("in")
        for arguments in [
            ["convert", "-r", input, "--format=jpeg", "-o", tool.path("out")], ["info", "-r", input],
            ["hash", "-r", input], ["sheet", "--no-names", "-r", input, tool.path("out/sheet.png")],
        ] {
            let run = try await tool.run(asStranger: arguments)
            #expect(run.status == 1, "\(arguments[0]): \(run.errors)")
            #expect(run.errors == "webimage: \(closed): Permission denied.\n")
            #expect(run.output.split(separator: "\n").count == (arguments[0] == "sheet" ? 1 : 4))
        }
        #expect(tool.names(in: "out") == ["10.jpg", "2.jpg", "b", "sheet.png"])
        #expect(tool.names(in: "out/b") == ["2.jpg", "c"])
        // The folder may be all that another has, or be on the command line.
        for other in [tool.path("other"), tool.path("other/closed")] {
            try FileManager.default.createDirectory(
                atPath: tool.path("other/closed"), withIntermediateDirectories: true)
            chmod(tool.path("other/closed"), 0)
            defer { chmod(tool.path("other/closed"), 0o755) }
            let run = try await tool.run(asStranger: ["info", "-r", other, tool.path("in/b/c")])
            #expect(run.status == 1)
            #expect(run.errors == "webimage: \(tool.path("other/closed")): Permission denied.\n")
            #expect(run.output.split(separator: "\n").count == 1)
        }
        // Without any image there is nothing to do.
        let nothing = try await tool.run(asStranger: ["info", "-r", closed])
        #expect(nothing.status == 2 && nothing.errors.contains("\(closed): Permission denied."))
    }

    @Test func takesFilesInNaturalOrderAndFollowsNoLinksToFolders() async throws {
        try FileManager.default.createSymbolicLink(
            atPath: tool.path("in/loop"), withDestinationPath: tool.path("in"))
        try FileManager.default.createSymbolicLink(
            atPath: tool.path("in/b/link.png"), withDestinationPath: tool.path("in/2.png"))
        let objects = try await tool.run("info", "--json", "-r", "in/").objects(InfoObject.self)
        #expect(objects.map(\.url) == ["in/2.png", "in/10.png", "in/b/2.png", "in/b/link.png", "in/b/c/deep.png"])
    }

    @Test(arguments: [
        ("a2", "a10", true), ("a10", "a2", false), ("a02", "a2", true), ("a", "a1", true), ("b1", "a2", false),
        ("a1b2", "a1b10", true), ("9", "a", true),
    ])
    func ordersNamesNaturally(first: String, second: String, isInOrder: Bool) {
        #expect(ImageFolder.isInOrder(SystemString(first), SystemString(second)) == isInOrder)
        #expect(ImageFolder.isInOrder(SystemString(second), SystemString(first)) == !isInOrder)
    }

    @Test(arguments: ["in/2.png\nin/b/2.png\n", "\r\nin/2.png\r\n\nin/b/2.png", "in/2.png\0in/b/2.png\0"])
    func readsTheNamesInAList(list: String) async throws {
        let path = try tool.write(Data(list.utf8), to: "list.txt")
        let run = try await tool.run("info", "--json", "in/10.png", "--from-file", path)
        #expect(try run.objects(InfoObject.self).map(\.url) == ["in/10.png", "in/2.png", "in/b/2.png"])
        let piped = try await tool.run("convert", "--from-file", "-", "-o", "out", input: path)
        #expect(piped.status == 0, "\(piped.errors)")
        #expect(tool.names(in: "out") == ["2-2.png", "2.png"])
    }

    @Test func aMissingFileInAListIsOneFailure() async throws {
        let path = try tool.write(Data("in/2.png\ngone.png\n".utf8), to: "list.txt")
        let run = try await tool.run("convert", "--from-file", path, "-o", "out")
        #expect(run.status == 1 && run.errors.contains("gone.png"))
        #expect(tool.names(in: "out") == ["2.png"])
    }

    @Test func namesFilesByATemplate() async throws {
        let run = try await tool.run(
            "convert", "in/10.png", "in/2.png", "--size=16", "-o", "out/{index}-{name}_{width}x{height}.webp")
        #expect(run.status == 0, "\(run.errors)")
        #expect(tool.names(in: "out") == ["1-10_16x12.webp", "2-2_16x12.webp"])
        #expect(try CodecRegistry.shared.info(of: tool.contents(of: "out/1-10_16x12.webp")).format == .webp)
        let own = try await tool.run("convert", "-r", "in", "-o", "all/{folder}/{name}.small.{format}")
        #expect(own.status == 0, "\(own.errors)")
        #expect(tool.names(in: "all") == ["10.small.png", "2.small.png", "b"])
        #expect(own.output.contains(" → all/2.small.png\n") && own.output.contains(" → all/b/2.small.png\n"))
        #expect(tool.names(in: "all/b") == ["2.small.png", "c"])
    }

    @Test func equalNamesInATemplateGetNumbers() async throws {
        #expect(try await tool.run("convert", "-r", "in", "-o", "out/{name}.png").status == 0)
        #expect(tool.names(in: "out") == ["10.png", "2-2.png", "2.png", "deep.png"])
    }

    /// Otherwise, one of them would be lost.
    @Test func anImageIsNotReplacedByTheNextOne() async throws {
        _ = try tool.write(TestImage(width: 164, height: 48).data(.png), to: "a.png")
        _ = try tool.write(TestImage().data(.png), to: "a1.png")
        let run = try await tool.run("convert", "--jobs=1", "a.png", "a1.png", "-o", "{name}{width}.jpg")
        #expect(run.status == 1 && run.errors.contains("a164.jpg: File exists"), "\(run.errors)")
        #expect(try CodecRegistry.shared.info(of: tool.contents(of: "a164.jpg")).size.width == 164)
    }

    @Test func bracesWithoutLettersAreOrdinary() async throws {
        #expect(try await tool.run("convert", "in/2.png", "a{1}.png").status == 0)
        #expect(tool.names(in: ".").contains("a{1}.png"))
    }

    @Test func templatesReplaceNoInputAndNoFileTheyMustNot() async throws {
        let before = try tool.contents(of: "in/2.png")
        let input = try await tool.run("convert", "in/2.png", "--size=8", "-o", "in/{name}.png")
        #expect(input.status == 1 && input.errors.contains("It is the input"))
        #expect(try tool.contents(of: "in/2.png") == before)
        _ = try tool.write(Data("old".utf8), to: "new-2.png")
        #expect(try await tool.run("convert", "in/2.png", "--no-clobber", "-o", "new-{name}.png").status == 1)
        #expect(try tool.contents(of: "new-2.png") == Data("old".utf8))
    }

    @Test func printsWhatItWroteInAllForms() async throws {
        for arguments in [["in/2.png", "a.webp"], ["in/2.png", "-o", "b.webp"], ["in/2.png", "-o", "{name}.webp"]] {
            let run = try await tool.run(["convert", "--jobs=1"] + arguments)
            #expect(run.status == 0 && run.output.hasPrefix("in/2.png: webp, 64×48, "), "\(run.output)\(run.errors)")
            #expect(run.output.contains(".webp\n"))
        }
    }

    @Test func printsATableForSpreadsheets() async throws {
        _ = try tool.write(TestImage().data(.jpeg), to: "a, \"b\".jpg")
        let bytes = try tool.contents(of: "a, \"b\".jpg").count
        let run = try await tool.run("info", "--csv", "a, \"b\".jpg", "gone.png")
        #expect(run.status == 1)
        let lines = run.output.split(separator: "\n").map(String.init)
        #expect(lines.count == 3)
        #expect(lines[0].hasPrefix("file,format,type,width,height,pages,frames,"))
        #expect(lines[1].hasPrefix("\"a, \"\"b\"\".jpg\",jpeg,image/jpeg,64,48,1,1,,8,false,false,false,1,"))
        #expect(lines[1].hasSuffix(",\(bytes),"))
        #expect(lines[2].hasPrefix("gone.png,,,,") && lines[2].contains("No such file"))
        let columnCounts = Set(
            [lines[0], lines[2]].map { $0.split(separator: ",", omittingEmptySubsequences: false).count })
        #expect(columnCounts.count == 1)
    }

    @Test func stripsMetadata() async throws {
        let metadata = ImageMetadata(xmp: Data("<x:xmpmeta/>".utf8))
        var options = EncodingOptions()
        options.metadata = metadata
        let data = try CodecRegistry.shared.encode(TestImage().image(), as: .jpeg, options: options)
        let input = try tool.write(data, to: "in.jpg")
        for (arguments, kept) in [([], metadata.xmp), (["--strip"], nil)] {
            let run = try await tool.run(["get", input, "-o", "out.jpg"] + arguments)
            #expect(run.status == 0, "\(run.errors)")
            #expect(try CodecRegistry.shared.metadata(of: tool.contents(of: "out.jpg")).xmp == kept)
        }
    }

    @Test func aLineOfAListThatBeginsWithAHashIsAComment() async throws {
        _ = try tool.write(TestImage().data(.png), to: "#a.png")
        _ = try tool.write(Data("# mine\n#a.png\nin/2.png\n./#a.png\n".utf8), to: "list.txt")
        let run = try await tool.run("info", "--json", "--from-file", "list.txt")
        #expect(try run.objects(InfoObject.self).map(\.url) == ["in/2.png", "./#a.png"], "\(run.errors)")
        // Programs that end names with NUL write no comments.
        _ = try tool.write(Data("#a.png\0".utf8), to: "names")
        #expect(try await tool.run("info", "--json", "--from-file", "names").object(InfoObject.self).url == "#a.png")
    }
}
