import CommandReference
import Testing
import WebImage

@testable import WebImageCLI

@Suite(.timeLimit(.minutes(3))) struct ManualPageTests {
    let tool: Tool

    init() async throws {
        tool = try Tool()
        let page = try await tool.run("help", "--man")
        try #require(page.status == 0 && page.errors.isEmpty)
        _ = try tool.write(page.outputData, to: "webimage.1")
    }

    private func man(_ arguments: String...) async throws -> ToolRun {
        let environment = ["/usr/bin/env", "LC_ALL=C.UTF-8", "MANWIDTH=80"]
        return try await tool.run(program: environment + ["man"] + arguments + ["--local-file", "webimage.1"])
    }

    @Test func isFormattedWithoutWarnings() async throws {
        let run = try await man("--warnings", "--encoding=UTF-8", "--troff-device=utf8", "--ditroff")
        #expect(run.status == 0 && !run.output.isEmpty)
        #expect(run.errors.isEmpty)
    }

    @Test func describesEveryOptionOfEachCommand() async throws {
        let page = try await man().output
        #expect(page.contains("webimage \(LibraryVersion.text)") && page.contains(LibraryVersion.date))
        let names = Tool.commands
        let headings = names.map { "\n   webimage \($0)\n" } + ["\nEXIT STATUS\n"]
        for (index, name) in names.enumerated() {
            let parts = page.split(separator: headings[index])
            try #require(parts.count == 2)
            let section = parts[1].split(separator: headings[index + 1])[0]
            let options = try await tool.optionNames(of: name)
            #expect(!options.isEmpty)
            for option in options {
                #expect(
                    section.contains(try Regex("\n {7,10}(-., )?--\(option)[= \n]")), "\(name) --\(option) is missing")
            }
        }
    }

    @MainActor @Test func escapesWhatRoffInterprets() {
        let option = CommandSyntax.Option(name: "a-b", valueName: "'x'", help: ".first \\ 'second' – \u{1F600}")
        let syntax = CommandSyntax(
            program: "webimage", name: "try", summary: "Try", operands: "[A]", operandCompletion: .text, details: "",
            options: [option])
        let text = ManualPage(.webimage, commands: [syntax], origin: "a test").text
        #expect(text.contains("\n\\fB\\-\\-a\\-b\\fR=\\fI\\(aqx\\(aq\\fR\n"))
        #expect(text.contains("\n\\&.first \\e \\(aqsecond\\(aq \\[u2013] \\[u1F600]\n"))
        #expect(text.utf8.allSatisfy { $0 < 0x80 })
    }
}

extension Tool {
    /// Returns the long names of the options in a command's help.
    func optionNames(of command: String) async throws -> [String] {
        let help = try await run("help", command)
        guard help.status == 0 else { throw ToolError(help.errors) }
        return help.output.matches(of: /\n  (?:-., )?--([a-z-]+)/).map { String($0.output.1) }
    }
}
