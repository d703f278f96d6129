import ProgramSupport
import Testing
import WebImage
import WebImageCore

@testable import WebImageCLI

@Suite(.timeLimit(.minutes(3))) struct UsageTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    @Test(arguments: ["--help", "-h", "help"])
    func listsItsCommands(argument: String) async throws {
        let run = try await tool.run(argument)
        #expect(run.status == 0)
        #expect(run.errors.isEmpty)
        for command in Tool.commands { #expect(run.output.contains("  \(command) ")) }
    }

    @Test func printsItsVersion() async throws {
        let run = try await tool.run("--version")
        #expect(run.status == 0 && run.errors.isEmpty)
        #expect(run.output == "webimage \(LibraryVersion.text)\n")
    }

    @Test func printsTheLayersOfTheSandboxWithItsVersion() async throws {
        let run = try await tool.run("--version", "--verbose")
        #expect(run.status == 0 && run.errors.isEmpty)
        let lines = run.output.split(separator: "\n")
        #expect(lines[0] == "webimage \(LibraryVersion.text)" && lines[1].hasPrefix("isolation: /"))
        #expect(lines.count == 2 + SandboxLayer.allCases.count && lines.contains("  system call filter"))
        #expect(try await tool.run("--version", "--bogus").status == 2)
    }

    @Test(arguments: ["fetch", "xyzzy", "--bogus"]) func suggestsOnlySimilarCommands(argument: String) async throws {
        let run = try await tool.run(argument)
        #expect(run.status == 2)
        #expect(run.errors.contains(argument) && !run.errors.contains("did you mean"))
    }

    @Test(arguments: [
        (
            "get",
            [
                "--output", "--size", "--mode", "--format", "--quality", "--cache-dir", "--no-cache", "--policy",
                "--header", "--harmless-header", "--idle-timeout", "--timeout", "--max-time", "--retries",
                "--concurrency", "--jobs", "--no-clobber", "--crop", "--gravity", "--enlarge", "--trim", "--max-pixels",
                "--recursive", "--from-file", "--strip",
                "--quiet", "--json", "standard input",
            ]
        ),
        (
            "info",
            [
                "--cache-dir", "--no-cache", "--policy", "--header", "--harmless-header", "--idle-timeout", "--timeout",
                "--max-time", "--quiet", "--json", "--csv", "--recursive", "--from-file",
            ]
        ),
        (
            "convert",
            [
                "--crop", "--gravity", "--enlarge", "--trim", "--max-pixels", "--recursive", "--from-file", "--strip",
                "--jobs", "{name}", "--size", "--mode", "--format", "--quality", "--lossless", "--progressive",
                "--optimize", "--chroma",
                "--level", "--filter", "--effort", "--preset", "--alpha-quality", "--dither", "--palette", "--colors",
                "--loop",
                "--whole-frames", "--frame", "--first-frame", "--max-bytes", "--background", "--metadata", "--json",
                "--output",
                "--no-clobber", "--quiet",
            ]
        ),
        (
            "file",
            [
                "--size", "--mode", "--format", "--quality", "--cache-dir", "--policy", "--recursive", "--uri",
                "--json",
                "7 days", "256 MiB",
            ]
        ),
        ("compare", ["--output", "--max-pixels", "--isolated", "--quiet", "--json", "PSNR", "SSIM"]),
        (
            "hash",
            [
                "--only", "--components", "--similar", "--decode", "--size", "--output", "--recursive", "--from-file",
                "--max-pixels", "--json",
            ]
        ),
        (
            "sheet",
            [
                "--columns", "--gap", "--sheet-color", "--no-names", "--size", "--mode", "--quality", "--recursive",
                "--output", "--no-clobber", "--json", "--quiet",
            ]
        ),
        (
            "animate",
            [
                "--duration", "--loop", "--size", "--mode", "--enlarge", "--rotate", "--quality", "--output",
                "--no-clobber", "--recursive", "--json", "--quiet",
            ]
        ),
        ("cache", ["stats", "list", "get", "remove", "clear", "trim", "--cache-dir", "--output", "--json"]),
    ])
    func explainsEachCommand(command: String, words: [String]) async throws {
        let run = try await tool.run(command, "--help")
        #expect(run.status == 0)
        #expect(run.errors.isEmpty)
        #expect(run.output.hasPrefix("Usage:\n  webimage \(command) "))
        for word in words { #expect(run.output.contains(word), "\(word) is missing") }
    }

    @Test(arguments: [
        ([], "no command"),
        (["fetch"], "'fetch'"),
        (["infp", "a.png"], "did you mean 'info'?"),
        (["--verison"], "did you mean '--version'?"),
        (["--man"], "; use 'webimage help --man'"),
        (["--completions=bash"], "; use 'webimage help --completions'"),
        (["get", "--qualtiy", "5", "x.png"], "did you mean '--quality'?"),
        (["get", "--no-cahce", "x.png"], "did you mean '--no-cache'?"),
        (["get", "--timout=5", "x.png"], "unknown option '--timout'; did you mean '--timeout'?"),
        (["convert", "--progress", "a.png", "b.jpg"], "did you mean '--progressive'?"),
        (["cache", "stat"], "did you mean 'stats'?"),
        (["get", "--quiet", "--json", "x.png"], "--quiet"),
        (["info", "--quiet", "--json", "x.png"], "cannot be used together"),
        (["get", "--no-clobber", "x.png"], "--output"),
        (["get", "-", "-"], "only once"),
        (["convert", "-", "-", "-o", "d"], "only once"),
        (["get", "a.png", "b.png", "-o", "-"], "one image"),
        (["get", "a.png", "-o", "-", "--json"], "--json"),
        (["get", "a.png", "-o", "-", "--explain"], "--explain"),
        (["convert", "a.png", "-", "--format", "png", "--json"], "--json"),
        (["convert", "-o", "d"], "no file"),
        (["convert", "a.png", "b.png", "c.png"], "--output DIR"),
        (["convert", "a.png", "http://127.0.0.1/b.png", "-o", "d"], "webimage get"),
        (["get"], "no URL"),
        (["get", "--progressive", "d", "x.png"], "--progressive"),
        (["get", "--policy", "never", "x.png"], "cacheFirst, http, refresh, reload, cacheOnly, offline"),
        (["get", "--size", "12%", "x.png"], "--size"), (["get", "--enlarge", "x.png"], "--size"),
        (["get", "--crop", "5", "x.png"], "16:9"), (["get", "--crop", "0x5", "x.png"], "--crop"),
        (["get", "--crop", "0:1", "x.png"], "--crop"), (["get", "--crop", "5x5+1", "x.png"], "--crop"),
        (["get", "--gravity", "up", "--crop", "5x5", "x.png"], "northeast"),
        (["get", "--gravity", "north", "x.png"], "--gravity needs --crop"),
        (["get", "--focus", "0,0", "--size", "5x5", "x.png"], "--focus needs --mode fill"),
        (["get", "--focus", "0,2", "--size", "5x5", "--mode", "fill", "x.png"], "from -1 to 1"),
        (
            ["get", "--focus", "0,0", "--gravity", "north", "--size", "5x5", "--mode", "fill", "x.png"],
            "--focus and --gravity"
        ),
        (["get", "--gravity", "north", "--size", "5x", "--mode", "fill", "x.png"], "--gravity needs --crop"),
        (["get", "--gravity", "north", "--crop", "5x5+1+1", "x.png"], "without +X+Y"),
        (["get", "--max-pixels", "many", "x.png"], "250M"), (["convert", "--max-pixels", "5G", "a", "b"], "4G"),
        (["convert", "--jobs", "0", "a.png", "b.png"], "--jobs"),
        (["convert", "a.png", "-o", "{nmae}.png"], "unknown placeholder '{nmae}'"),
        (["convert", "a.png", "b.png", "-o", "{width}.png"], "{name} or {index}"),
        (["get", ".", "-o", "d"], "'.' is a folder; use --recursive"),
        (["convert", "--recursive", ".", "-o", "d"], "no image"),
        (["info", "--from-file", "missing.txt"], "missing.txt"), (["info", "--from-file", "/dev/null"], "empty"),
        (["info", "-", "--from-file", "-"], "only once"),
        (["info", "--csv", "--json", "x.png"], "--csv"),
        (["convert", "--strip", "--metadata", "all", "a.png", "b.png"], "cannot be used together"),
        (["get", "--size", "0x0", "x.png"], "--size"),
        (["get", "--size", "-5x5", "x.png"], "--size"),
        (["get", "--size", "70000x1", "x.png"], "65535"),
        (["get", "--size", "5x5", "--mode", "crop", "x.png"], "fit, fill or stretch"),
        (["get", "--mode", "fit", "x.png"], "--size"),
        (["get", "--format", "png", "x.png"], "--format needs --output"),
        (["get", "--format", "psd", "-o", "y", "x.png"], "--format"),
        (["convert", "--icon-sizes", "16,300", "x.png", "y.ico"], "--icon-sizes"),
        (["convert", "--icon-sizes", "16", "x.png", "y.png"], "--icon-sizes"),
        (["convert", "--metadata", "all", "x.png", "y.gif"], "--metadata"),
        (["convert", "--metadata", "some", "x.png", "y.jpg"], "--metadata"),
        (["convert", "--page", "0", "x.ico", "y.png"], "--page"),
        (["get", "--quality", "101", "-o", "y.jpg", "x.png"], "0 to 100"),
        (["get", "--quality", "50", "-o", "y.png", "x.png"], "not for PNG"),
        (["get", "--concurrency", "0", "x.png"], "--concurrency"),
        (["get", "--timeout", "never", "x.png"], "--idle-timeout"),
        (["get", "--idle-timeout", "0", "x.png"], "--idle-timeout"),
        (["info", "--max-time", "-1", "x.png"], "--max-time"),
        (["info", "--max-decode-time", "0", "x.png"], "--max-decode-time takes seconds, more than 0 and at most 300"),
        (["convert", "--max-decode-time", "301", "x.png", "y.png"], "at most 300"),
        // The last one counts, whatever it is called.
        (["get", "--timeout", "9", "--idle-timeout", "first", "x.png"], "'first'"),
        (["get", "--idle-timeout", "9", "--timeout", "last", "x.png"], "'last'"),
        (["get", "--retries", "-1", "x.png"], "--retries"),
        (["get", "a.png", "b.png", "-o", "all.jpg"], "directory; 'all.jpg' names one file"),
        (["convert", "a.png", "b.png", "-o", "all.jpg"], "directory; 'all.jpg' names one file"),
        (["get", "a.png", "b.png", "-o", "/dev/null"], "'/dev/null' is a file"),
        (["get", "a.png", "-o", "/dev/null/"], "'/dev/null/' is a file, not a directory"),
        (["--help=get"], "'--help' takes no value"), (["--version=1"], "'--version' takes no value"),
        (["get", "a.png", "--size", "5x", "-o", "b.svg"], "svg cannot be written"),
        (["convert", "a.png", "b.svg"], "svg cannot be written"),
        (["get", "/dev/null", "-o", "/dev/null"], "is the input"),
        (["get", "--header", "no colon", "x.png"], "--header"),
        (["get", "--header", "A: b\r\nC: d", "x.png"], "--header"),
        (["get", "--harmless-header", "X-Key: k", "x.png"], "--harmless-header"),
        (["info", "--harmless-header", "*", "x.png"], "--harmless-header"),
        (["get", "--cache-dir", "d", "--no-cache", "x.png"], "cannot be used together"),
        (["get", "--size"], "--size"),
        (["file"], "no URL"), (["file", "--no-cache", "x.png"], "--no-cache"),
        (["file", "--uri", "--json", "x.png"], "cannot be used together"),
        (["file", "--format", "psd", "x.png"], "--format"), (["file", "--quality", "101", "x.png"], "0 to 100"),
        (["info"], "no file"),
        (["convert", "a.png"], "IN and OUT"),
        (["convert", "http://127.0.0.1/a.png", "b.png"], "webimage get"),
        (["convert", "a.png", "b"], "--format"),
        (["convert", "a.png", "b.xyz"], "--format"),
        (["convert", "a.png", "b.jpg", "--lossless"], "not for JPEG"),
        (["convert", "a.png", "b.webp", "--progressive"], "JPEG"),
        (["convert", "a.png", "b.gif", "--quality", "3"], "not for GIF"),
        (["convert", "a.png", "b.jpg", "--level", "3"], "PNG"),
        (["convert", "a.png", "b.png", "--level", "13"], "0 to 12"),
        (["convert", "a.png", "b.png", "--filter", "best"], "adaptive, none, sub, up, average or paeth"),
        (["convert", "a.png", "b.webp", "--effort", "7"], "0 to 6"),
        (["convert", "a.png", "b.webp", "--lossless", "--quality", "9"], "cannot be used together"),
        (["convert", "a.png", "b.gif", "--dither", "some"], "none, ordered or floyd-steinberg"),
        (["convert", "a.png", "b.gif", "--colors", "1"], "2 to 256"),
        (["convert", "a.png", "b.jpg", "--loop", "1"], "--loop"),
        (["convert", "a.png", "b.gif", "--loop", "-1"], "--loop"),
        (["convert", "a.png", "b.gif", "--frame", "0"], "--frame"),
        (["convert", "a.png", "b.gif", "--frame", "1", "--first-frame"], "cannot be used together"),
        (["convert", "a.png", "b.gif", "--frame", "1", "--loop", "2"], "single frame"),
        (["convert", "a.png", "b.gif", "--max-bytes", "few"], "500K"),
        (["convert", "a.png", "b.gif", "--max-bytes", "0"], "500K"),
        (["convert", "a.png", "b.gif", "--background", "red"], "#rrggbb"),
        (["convert", "a.png", "b.png", "--background", "#ff0000"], "JPEG and GIF"),
        (["get", "--level", "3", "x.png"], "--level needs --output"),
        (["get", "--metadata", "none", "x.png"], "--metadata needs --output"),
        (["convert", "a.png", "b.png", "--sharpen", "3"], "--sharpen"),
        (["help", "xyzzy"], "unknown command 'xyzzy'"),
        (["help", "get", "--man"], "either a command, --man or --completions"),
        (["help", "--completions", "csh"], "bash, fish or zsh"),
        (["compare", "a.png"], "two images"), (["compare", "a.png", "b.png", "-o", "c.xyz"], "extension"),
        (["compare", "a.png", "b.png", "-o", "."], "no file"), (["compare", "a.png", "b.png", "-o", "c.svg"], "svg"),
        (["compare", "-", "-"], "only once"), (["compare", "/dev/null", "b.png", "-o", "/dev/null"], "is the input"),
        (["hash"], "no file"), (["hash", "--only", "md5", "a.png"], "phash, thumbhash or blurhash"),
        (["hash", "--components", "10x1", "a.png"], "1 to 9"), (["hash", "--similar", "65", "a.png"], "0 to 64"),
        (["hash", "--similar", "6", "--only", "phash", "a.png"], "cannot be used together"),
        (["hash", "--only", "phash", "--components", "4x3", "a.png"], "BlurHash"),
        (["hash", "--decode", "LEHV6nWB2yk8pyo0adR*.7kCMdnj"], "--output"),
        (["hash", "--size", "9", "a.png"], "--decode"),
        (["hash", "--decode", "LEHV6", "-o", "a.png"], "neither a BlurHash nor a ThumbHash"),
        (["hash", "--decode", "LEHV6nWB2yk8pyo0adR*.7kCMdnj", "-o", "a.png", "b.png"], "no image"),
        (["hash", "--decode", "LEHV6nWB2yk8pyo0adR*.7kCMdnj", "--size", "0", "-o", "a.png"], "4096"),
        (["sheet", "a.png"], "IN… OUT"), (["sheet", "a.png", "b"], "extension"),
        (["sheet", "a.png", "b.png", "--columns", "0"], "--columns"),
        (["sheet", "a.png", "b.png", "--gap", "-1"], "--gap"),
        (["sheet", "a.png", "b.png", "--size", "60000"], "smaller --size"),
        (["sheet", "a.png", "b.png", "--size", "60x"], "not one side"),
        (["sheet", "a.png", "b.png", "--metadata", "all"], "no metadata"),
        (["sheet", "a.png", "b.gif", "--loop", "2"], "no animation"),
        (["animate", "a.png"], "IN… OUT"), (["animate", "a.png", "b.jpg"], "JPEG has no animations"),
        (["animate", "a.png", "b.gif", "--duration", "0"], "0.02"),
        (["animate", "a.png", "b.gif", "--duration", "1,2"], "1 frame"),
        (["animate", "a.png", "b.gif", "--first-frame"], "no animation"),
        (["animate", "-", "b.gif"], "standard input"),
        (["animate", "a.png", "b.webp", "--metadata", "all"], "no metadata"),
        (["cache"], "no action given; the actions are stats, list, get, remove, clear, trim"),
        (["cache", "shrink"], "shrink"),
        (["cache", "get"], "one key"),
        (["cache", "get", "a", "--json"], "--output"),
        (["cache", "stats", "-o", "x"], "--output"),
        (["cache", "trim", "lots"], "500K"),
    ])
    func refusesInvalidArguments(arguments: [String], word: String) async throws {
        let run = try await tool.run(arguments)
        #expect(run.status == 2)
        #expect(run.output.isEmpty)
        #expect(run.errors.contains(word), "\(run.errors)")
        #expect(run.errors.contains("--help"))
    }

    @MainActor @Test func theLastOfHeadersWithTheSameNameCounts() throws {
        let arguments = ["--header", "Accept: a", "--header", "X-Key: k", "--header", "accept: b", "x.png"]
        #expect(try GetCommand(arguments.map(SystemString.init)).source.headers == ["accept": "b", "X-Key": "k"])
    }

    @Test(arguments: Tool.commands)
    func helpFitsATerminalOf80Columns(command: String) async throws {
        let help = try await tool.run("help", command)
        #expect(help.status == 0)
        #expect(try await tool.run(command, "--help").output == help.output)
        for line in help.output.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    }

    @Test(arguments: [
        ("get", ["Input", "Output", "Pixels", "Encoding", "JPEG and PNG", "Animations", "Cache", "Server", "Reports"]),
        ("info", ["Input", "Cache", "Server", "Reports"]),
        ("file", ["Input", "Pixels", "Encoding", "Cache", "Server", "Safety", "Reports"]),
        ("convert", ["Input", "Output", "Pixels", "Safety", "Encoding", "GIF and icons", "Reports"]),
        ("compare", ["Output", "Safety", "Reports"]), ("hash", ["Input", "Hashes", "Safety", "Reports"]),
        ("sheet", ["Input", "Output", "Layout", "Pixels", "Encoding", "Safety", "Reports"]),
        ("animate", ["Input", "Output", "Pixels", "Encoding", "Animations", "Safety", "Reports"]),
        ("cache", ["Options"]),
    ])
    func helpHasEachHeadingOnce(command: String, headings: [String]) async throws {
        let lines = try await tool.run("help", command).output.split(separator: "\n").map(String.init)
        for heading in headings { #expect(lines.count { $0 == heading + ":" } == 1, "\(heading)") }
    }

    @Test func argumentsAfterTwoDashesAreFiles() async throws {
        _ = try tool.write(TestImage().data(.png), to: "--json")
        let run = try await tool.run("info", "--", "--json")
        #expect(run.status == 0)
        #expect(run.output.hasPrefix("--json: png, 64×48"))
    }
}
