import CommandReference
import ProgramSupport
import Testing

/// The arguments of all programs.
@Suite(.timeLimit(.minutes(1))) struct CommandArgumentsTests {
    private static let syntax = CommandSyntax(
        program: "test", summary: "Test", operands: "FILE…",
        options: [
            CommandSyntax.Option(name: "size", alias: "scale", letter: "s", valueName: "N", help: "A text"),
            CommandSyntax.Option(name: "output", letter: "o", valueName: "FILE", completion: .file, help: "A path"),
            CommandSyntax.Option(name: "force", letter: "f", help: "A flag"),
            CommandSyntax.Option(name: "quiet", letter: "q", help: "Another flag"),
            CommandSyntax.Option(name: "log", mayHaveValue: true, help: "A switch"),
        ])

    private func text(_ arguments: CommandArguments) -> String {
        let options = arguments.options.map { option in
            option.name + (option.value.map { "=\($0)" } ?? "")
        }
        return (options + ["|"] + arguments.operands.map(\.description)).joined(separator: " ")
    }

    @Test(arguments: [
        ("", "|"),
        ("a b", "| a b"),
        ("--size=3 a --force", "size=3 force | a"),
        ("--size 3 --scale=4", "size=3 size=4 |"),
        ("--size=a=b --size=", "size=a=b size= |"),
        ("--size --force", "size=--force |"),
        ("-fq a -s3 -s 4 -qs5", "force quiet size=3 size=4 quiet size=5 | a"),
        ("--log --log=false", "log log=false |"),
        ("- -f -- -q --size", "force | - -q --size"),
    ])
    func optionsAreToldFromOperands(line: String, expected: String) throws {
        let arguments = line.split(separator: " ").map(String.init)
        #expect(text(try CommandArguments(arguments, for: Self.syntax)) == expected)
    }

    @Test(arguments: [
        ("--sise=3", "unknown option '--sise'; did you mean '--size'?"),
        ("--=3", "unknown option '--'"),
        ("-fx", "unknown option '-x'"),
        ("--size", "--size needs a value"),
        ("-s", "--size needs a value"),
        ("--force=yes", "--force takes no value"),
    ])
    func mistakesAreNamed(line: String, reason: String) {
        let error = #expect(throws: CommandArguments.Failure.self) {
            _ = try CommandArguments(line.split(separator: " ").map(String.init), for: Self.syntax)
        }
        #expect(error?.reason.english == reason)
    }

    @Test func onlyPathsNeedNotBeUTF8() throws {
        let bytes = SystemString(Array("ä".utf8) + [0xFF])
        let arguments = try CommandArguments([SystemString("--output=") + bytes, bytes], for: Self.syntax)
        #expect(arguments.values(of: "output") == [bytes] && arguments.operands == [bytes])
        let error = #expect(throws: CommandArguments.Failure.self) {
            _ = try CommandArguments([SystemString("--size=") + bytes], for: Self.syntax)
        }
        #expect(error?.reason == "--size takes text in UTF-8, not 'ä\\xFF'")
    }

    @Test func theLastValueIsTheText() throws {
        let arguments = try CommandArguments(["--size=3", "--size=4", "-f"], for: Self.syntax)
        #expect(arguments.text(of: "size") == "4")
        #expect(arguments.text(of: "force") == nil && arguments.isGiven("force") && !arguments.isGiven("quiet"))
    }
}
