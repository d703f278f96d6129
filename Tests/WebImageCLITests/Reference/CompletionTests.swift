import Foundation
import Testing
import WebImage

@Suite(.timeLimit(.minutes(3))) struct CompletionTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        _ = try tool.write(Data(), to: "one.png")
        _ = try tool.write(Data(), to: "folder/two.png")
    }

    struct Case: Sendable {
        let line: String
        let shown: [String]
        var hidden: [String] = []
    }

    static let cases = [
        Case(line: "webimage ", shown: Tool.commands, hidden: ["one.png"]),
        Case(line: "webimage conv", shown: ["convert"], hidden: ["info"]),
        Case(line: "webimage get --po", shown: ["--policy"], hidden: ["--format"]),
        Case(
            line: "webimage get --policy ",
            shown: ["cacheFirst", "http", "refresh", "reload", "cacheOnly", "offline"], hidden: ["one.png"]),
        Case(line: "webimage get --policy=cache", shown: ["cacheFirst", "cacheOnly"], hidden: ["offline"]),
        Case(
            line: "webimage convert --format ", shown: CodecRegistry.shared.writableFormats.map(\.name),
            hidden: ["one.png"]),
        Case(line: "webimage info ", shown: ["one.png", "folder"]),
        Case(line: "webimage get --cache-dir ", shown: ["folder"], hidden: ["one.png"]),
        Case(line: "webimage get --size ", shown: [], hidden: ["one.png", "--"]),
        Case(line: "webimage cache ", shown: ["stats", "list", "get", "remove", "clear", "trim"], hidden: ["one.png"]),
        // The action has the name of a command.
        Case(line: "webimage cache get ", shown: [], hidden: ["stats", "trim", "one.png"]),
        Case(line: "webimage cache get --", shown: ["--cache-dir", "--output"], hidden: ["--policy"]),
        Case(line: "webimage help co", shown: ["convert"], hidden: ["cache", "one.png"]),
    ]

    @Test(arguments: ["bash", "fish", "zsh"]) func completes(name: String) async throws {
        let shell = try await InteractiveShell(name, tool: tool)
        _ = try await Self.cases.concurrentMap { example in
            let suggestions = try await shell.suggestions(for: example.line)
            // The shell may repeat the line itself.
            let shown = suggestions.replacing(example.line, with: "")
            for word in example.shown {
                #expect(shown.contains(word), "\(example.line): \(word) is missing in \(shown)")
            }
            for word in example.hidden { #expect(!shown.contains(word), "\(example.line): \(word) is in \(shown)") }
        }
    }

    @Test(arguments: ["bash", "fish", "zsh"]) func completesEveryOption(shell: String) async throws {
        let script = try await tool.run("help", "--completions", shell).output
        for command in Tool.commands {
            for option in try await tool.optionNames(of: command) {
                let declaration = shell == "fish" ? "command \(command)'.* -l \(option) " : "--\(option)\\b"
                #expect(try script.contains(Regex(declaration)), "\(command) --\(option) is missing")
            }
        }
    }
}
