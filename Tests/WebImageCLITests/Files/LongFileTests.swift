import Foundation
import Glibc
import Testing
import WebImage
import WebImageCore

/// Files of users have any length, and are mostly holes here.
@Suite(.timeLimit(.minutes(3))) struct LongFileTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    /// Writes a file that begins with `data` and has that length; returns `nil` if the file system has no such files.
    private func write(_ data: Data, to name: String, byteCount: Int) throws -> String? {
        let path = try tool.write(data, to: name)
        return truncate(path, byteCount) == 0 ? path : nil
    }

    private static let commands = [
        ["convert", "in.png", "out.webp"], ["get", "in.png"], ["hash", "in.png"], ["compare", "in.png", "in.png"],
        ["info", "in.png"], ["sheet", "--no-names", "in.png", "out.png"], ["animate", "in.png", "out.gif"],
        ["thumbnail", "in.png", "out.png", "128"],
    ]

    @Test func aLongFileThatBeginsLikeNoImageIsRefused() async throws {
        for byteCount in [300 << 20, 8 << 40] {
            guard try write(Data("a text".utf8), to: "in.png", byteCount: byteCount) != nil else { continue }
            for arguments in Self.commands {
                let run = try await tool.run(arguments)
                #expect(run.status != 0 && run.errors.contains("not an image"), "\(arguments[0]): \(run.errors)")
            }
        }
    }

    @Test func aLongListIsRefused() async throws {
        let list = try #require(try write(Data("in.png\n".utf8), to: "list.txt", byteCount: 257 << 20))
        let run = try await tool.run("info", "--from-file", list)
        #expect(run.status == 2 && run.errors.contains("list.txt: File too large"), "\(run.errors)")
    }

    /// There is no folder for a copy, and no process may write as much: not even memory that processes share.
    @Test(arguments: [[], ["--isolated"]]) func aLongFileIsReadInPlace(options: [String]) async throws {
        _ = try #require(try write(TestImage().data(.png), to: "in.png", byteCount: 3 << 30))
        for command in ["info in.png", "convert in.png out.webp", "thumbnail in.png out.png 32"] {
            let isolation = command.hasPrefix("thumbnail") ? "" : options.joined(separator: " ")
            let run = try await tool.run(script: "ulimit -f 2097152; TMPDIR=/missing \"$tool\" \(command) \(isolation)")
            #expect(run.status == 0, "\(command): \(run.errors)")
        }
    }

    /// The tool waits until the pipe is read, while it still has the file. Mapped pages of a file are not memory that it takes.
    @Test func aLongFileIsNotInMemory() async throws {
        let image = try TestImage(width: 400, height: 300).data(.png)
        _ = try #require(try write(image, to: "in.png", byteCount: 201 << 20))
        let run = try await tool.run(
            script: """
                mkfifo pipe
                for command in "convert in.png - --format png --level 0" "animate in.png - --format png --level 0"; do
                    "$tool" $command > pipe &
                    exec 3< pipe
                    read -r -d '' -N 1 -u 3
                    grep RssAnon "/proc/$!/status"
                    cat <&3 > /dev/null
                    wait $! || exit
                done
                """)
        #expect(run.status == 0, "\(run.errors)")
        let peaks = run.output.matches(of: /RssAnon:\s+([0-9]+) kB/).compactMap { Int($0.output.1) }
        #expect(peaks.count == 2 && peaks.allSatisfy { $0 > 1 << 10 && $0 < 100 << 10 }, "\(run.output)")
    }
}
