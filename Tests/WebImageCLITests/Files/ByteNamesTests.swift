import Foundation
import Testing
import WebImage
import WebImageTestSupport

/// Files whose names are not UTF-8.
@Suite(.timeLimit(.minutes(3))) struct ByteNamesTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        _ = try tool.write(TestImage().data(.png), to: "a.png")
    }

    /// Runs a script with such a file, `$name`.
    private func runScript(_ script: String) async throws -> ToolRun {
        try await tool.run(script: "name=$'n\\xff\\x9b-\\xc3\\xa9.png'; cp a.png \"$name\" || exit 9\n" + script)
    }

    private static let shown = #"n\xFF\x9B-é.png"#

    @Test(arguments: ["$name", "./$name", "$PWD/$name", "file://$PWD/$name", "file://$PWD/n%FF%9b-é.png"])
    func opensAFile(argument: String) async throws {
        for command in ["info", "get"] {
            let run = try await runScript("\"$tool\" \(command) \"\(argument)\"")
            #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
            #expect(String(validating: run.outputData, as: UTF8.self) != nil)
            #expect(run.output.contains(": png, 64×48"), "\(run.output)")
            if argument == "$name" { #expect(run.output.hasPrefix(Self.shown + ": "), "\(run.output)") }
        }
    }

    @Test func describesItInJSON() async throws {
        let info = try await runScript("\"$tool\" info --json \"$name\"").object(InfoObject.self)
        #expect(info.url == Self.shown && info.error == nil)
        let missing = try await runScript("\"$tool\" info --json \"missing$name\"")
        #expect(missing.status == 1)
        #expect(
            try missing.object(InfoObject.self).error?.message == "missing\(Self.shown): No such file or directory.")
    }

    /// Each with the exact bytes of its name, which `test -e` looks for.
    @Test(arguments: [
        ("get \"$name\" -o $'o\\xfe.png'", #"$'o\xfe.png'"#), ("get \"$name\" -o $'o\\xfe.webp'", #"$'o\xfe.webp'"#),
        ("get \"$name\" -o $'d\\xfd/'", #"$'d\xfd/n\xff\x9b-\xc3\xa9.png'"#),
        ("get \"$name\" a.png -o $'d\\xfd/e\\xfe'", #"$'d\xfd/e\xfe/n\xff\x9b-\xc3\xa9.png'"#),
        ("get \"$name\" --size 8x -o $'d\\xfd/'", #"$'d\xfd/n\xff\x9b-\xc3\xa9.png'"#),
        ("convert \"$name\" $'o\\xfe.gif'", #"$'o\xfe.gif'"#), ("convert \"$name\" \"$name\"", "\"$name\""),
        ("convert \"$name\" -o $'d\\xfd/' --format gif", #"$'d\xfd/n\xff\x9b-\xc3\xa9.gif'"#),
        ("get --no-clobber \"$name\" -o $'o\\xfe.png'", #"$'o\xfe.png'"#),
    ])
    func writesAFile(command: String, path: String) async throws {
        let run = try await runScript(
            """
            "$tool" \(command) || exit
            ls -A | grep -qaF '\\x' && exit 8
            "$tool" info --quiet \(path)
            """)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        #expect(String(validating: run.outputData, as: UTF8.self) != nil)
        #expect(tool.names(in: ".").allSatisfy { !$0.hasSuffix(".part") })
    }

    @Test func jsonHasTheBytesOfAWrittenPath() async throws {
        let bytes = Data([0x6F, 0xFE] + Array(".png".utf8))
        let run = try await runScript("\"$tool\" get --json \"$name\" -o $'o\\xfe.png'")
        let object = try run.object(LoadObject.self)
        #expect(object.path == #"o\xFE.png"# && object.pathBase64 == bytes.base64EncodedString())
        #expect(object.url == Self.shown)
        let converted = try await runScript("\"$tool\" convert --json \"$name\" $'o\\xfe.png'").object(
            ConversionObject.self)
        #expect(converted.input == Self.shown && converted.path == #"o\xFE.png"#)
        let plain = try await runScript("\"$tool\" get --json \"$name\" -o plain.png").object(LoadObject.self)
        #expect(plain.path == "plain.png" && plain.pathBase64 == nil)
    }

    @Test func followsLinksAndKeepsInputs() async throws {
        let linked = try await runScript(
            "ln -s $'t\\xfe.png' link.png; \"$tool\" get \"$name\" -o link.png && cmp a.png $'t\\xfe.png'")
        #expect(linked.status == 0, "\(linked.errors)")
        let own = try await runScript(
            "\"$tool\" get \"$name\" --size 8x -o .; status=$?; cmp a.png \"$name\" && exit $status")
        #expect(own.status == 1 && own.errors.contains("./\(Self.shown): File exists"), "\(own.errors)")
        let kept = try await runScript("\"$tool\" convert --no-clobber a.png \"$name\"")
        #expect(kept.status == 1 && kept.errors.contains("\(Self.shown): File exists"))
    }

    @Test func worksInADirectoryWithSuchAName() async throws {
        let run = try await runScript(
            "mkdir $'d\\xfd' && cd $'d\\xfd' && cp ../a.png . && \"$tool\" get a.png -o b.jpg && \"$tool\" info b.jpg")
        #expect(run.status == 0 && run.output.contains("b.jpg: jpeg"), "\(run.errors)")
    }

    @Test(arguments: ["--size", "--header", "--format", "--cache-dir", "--cacert", "--user"])
    func otherOptionsTakeUTF8(option: String) async throws {
        let run = try await runScript("\"$tool\" get \(option) $'a:\\xff' a.png")
        #expect(run.status == 2 && run.errors.contains(option) && run.errors.contains(#"a:\xFF"#), "\(run.errors)")
        #expect(run.errors.contains("UTF-8"))
    }

    @Test func namesOfServersMayBeBytes() async throws {
        let root = try TemporaryDirectory()
        try root.write(TestImage().data(.png), to: "x")
        let server = try NGINXServer(root: root.path, locations: "location / { rewrite ^ /x break; }")
        let run = try await runScript(
            "\"$tool\" get http://127.0.0.1:\(server.port)/%FFa.png -o out/ && test -e $'out/\\xffa.png'")
        #expect(run.status == 0 && run.output.contains(#"out/\xFFa.png"#), "\(run.output)\(run.errors)")
    }
}
