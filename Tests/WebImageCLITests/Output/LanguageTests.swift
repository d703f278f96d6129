import Foundation
import Testing
import WebImageTestSupport

/// The tool in German: what people read is in the language of the user, what scripts read is not.
@Suite(.timeLimit(.minutes(3))) struct LanguageTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    /// Runs the tool where it has translations, `<prefix>/bin` and `<prefix>/share/locale`.
    private func run(_ arguments: String..., language: String = "de") async throws -> ToolRun {
        try await run(arguments, language: language)
    }

    private func run(_ arguments: [String], language: String = "de") async throws -> ToolRun {
        let program = tool.path("prefix/bin/webimage")
        if !FileManager.default.fileExists(atPath: program) {
            try FileManager.default.createDirectory(atPath: tool.path("prefix/bin"), withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: RunningTool.program.path, toPath: program)
            let made = try await tool.run(program: [
                Self.translations, "--compile", tool.path("prefix/share/locale"), "webimage",
            ])
            try #require(made.status == 0, "\(made.errors)")
        }
        let environment = try TestLocale.environment(in: tool.path("locales"), language: language).map { "\($0)=\($1)" }
        return try await tool.run(program: ["/usr/bin/env"] + environment + [program] + arguments)
    }

    private static let translations = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../../Scripts/translations"
    ).standardizedFileURL.path

    @Test func printsHelpInGerman() async throws {
        let overview = try await run("--help")
        #expect(overview.status == 0 && overview.output.hasPrefix("Aufruf:\n  webimage COMMAND"))
        #expect(overview.output.contains("\n  compare    Sagen, wie sehr sich zwei Bilder unterscheiden\n"))
        let help = try await run("thumbnail", "--help")
        #expect(help.output.contains("\nSicherheit:\n") && help.output.contains("Diese Hilfe ausgeben und beenden\n"))
        #expect(help.output.contains("Images are") == false)
        #expect(help.output.split(separator: "\n").allSatisfy { $0.count <= 80 }, "words are broken by characters")
    }

    /// A text that `Scripts/translations` does not find stays in English.
    @Test(arguments: Tool.commands) func everyOptionIsInGerman(command: String) async throws {
        func texts(_ run: ToolRun) -> Set<Substring> {
            // Options with their texts, and lines of paragraphs. Usages and URLs are the same in each language.
            Set(
                run.output.split(separator: "\n").filter { line in
                    line.hasPrefix("  -") && line.contains("   ")
                        || line.count > 60 && !line.contains("[OPTION…]") && !line.contains(" s3://")
                })
        }
        let (german, english) = (texts(try await run(command, "--help")), texts(try await tool.run(command, "--help")))
        #expect(!german.isEmpty && german.isDisjoint(with: english), "\(german.intersection(english))")
    }

    @Test func sendsErrorsInGerman() async throws {
        let option = try await run("get", "--sice", "3")
        #expect(option.status == 2)
        #expect(
            option.errors == """
                webimage: unbekannte Option „--sice“; meinen Sie „--size“?
                webimage: Siehe „webimage get --help“.

                """)
        let url = try await run("get", "gopher://host/a.png")
        #expect(url.errors.contains("gopher://host/a.png: Kein Lader nimmt URLs mit „gopher“. Verwenden Sie eine "))
        let format = try await run("convert", tool.write(Data("text".utf8), to: "a.png"), tool.path("b.png"))
        #expect(format.errors.contains("Die Daten sind kein Bild in einem bekannten Format; sie beginnen mit 74 65 "))
    }

    @Test func countsInGerman() async throws {
        let image = try tool.write(try TestImage(width: 4, height: 3).data(.png), to: "a.png")
        let one = try await run("animate", image, tool.path("one.gif"))
        #expect(one.output.hasPrefix("1 Einzelbild: gif, 4×3, "), "\(one)")
        let two = try await run("animate", image, image, tool.path("two.gif"))
        #expect(two.output.hasPrefix("2 Einzelbilder: gif, 4×3, "), "\(two)")
        let wrong = try await run("animate", "--duration", "1,2", image, tool.path("three.gif"))
        #expect(wrong.errors.contains("--duration hat 2 Zahlen für 1 Einzelbild\n"))
    }

    @Test func speaksEnglishWithoutATranslation() async throws {
        for run in [try await run("cache", language: "xx"), try await tool.run("cache")] {
            #expect(run.errors.hasPrefix("webimage: no action given; the actions are stats, list, "))
        }
    }

    /// JSON, tables, the manual page, completions and the version.
    @Test func doesNotTranslateWhatScriptsRead() async throws {
        let image = try tool.write(try TestImage(width: 4, height: 3).data(.png), to: "a.png")
        let broken = try tool.write(Data("text".utf8), to: "broken.png")
        let commands = [
            ["info", "--json", image, broken], ["info", "--csv", image, broken], ["compare", "--json", image, broken],
            ["hash", "--only", "phash", image], ["--version"], ["help", "--man"], ["help", "--completions", "zsh"],
        ]
        for command in commands {
            let (german, english) = (try await run(command), try await tool.run(command))
            #expect(german.output == english.output && !english.output.isEmpty, "\(command)")
            #expect(german.status == english.status)
        }
    }
}
