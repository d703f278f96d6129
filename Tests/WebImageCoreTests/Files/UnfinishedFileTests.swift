import FoundationEssentials
import Glibc
import SystemText
import Testing
import WebImageTestSupport

@testable import WebImageCore

/// Files that get their name once they are complete.
@Suite(.timeLimit(.minutes(1))) struct UnfinishedFileTests {
    private let folder: TemporaryDirectory
    private let content = Data("content".utf8)

    init() throws { folder = try TemporaryDirectory() }

    private func file(_ name: String = "file") throws -> UnfinishedFile {
        try UnfinishedFile(replacing: SystemString(folder.path(name)))
    }

    private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()) ?? [] }

    private func permissions(_ name: String) -> mode_t {
        var status = stat()
        return stat(folder.path(name), &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    @Test func isSeenOnceItIsComplete() throws {
        let file = try file()
        try file.append(content)
        try file.append(Data())
        try file.append(Data("more".utf8))
        #expect(file.byteCount == 11 && !names.contains("file") && names.count == 1)
        try file.overwrite(Data("CON".utf8), at: 0)
        try file.finish()
        #expect(names == ["file"])
        #expect(try Data(contentsOf: folder.url("file")) == Data("CONtentmore".utf8))
    }

    @Test func goesUnlessItIsComplete() throws {
        try folder.write(content, to: "file")
        do {
            let file = try file()
            try file.append(Data("other".utf8))
            #expect(names.count == 2)
            #expect(try Data(contentsOf: folder.url("file")) == content)
        }
        #expect(names == ["file"])
        #expect(try Data(contentsOf: folder.url("file")) == content)
    }

    @Test func beginsAnew() throws {
        let file = try file()
        try file.append(Data(repeating: 1, count: 1_000))
        try file.clear()
        try file.append(content)
        try file.finish()
        #expect(try Data(contentsOf: folder.url("file")) == content)
    }

    @Test func aReplacedFileKeepsItsPermissions() throws {
        try folder.write(content, to: "file")
        try #require(chmod(folder.path("file"), 0o640) == 0)
        let file = try file()
        try file.append(Data("other".utf8))
        let temporary = try #require(names.first { $0 != "file" })
        #expect(permissions(temporary) == 0o640)
        try file.finish()
        #expect(permissions("file") == 0o640)
        #expect(try Data(contentsOf: folder.url("file")) == Data("other".utf8))
    }

    @Test func linksAreFollowed() throws {
        try folder.write(content, to: "folder/target")
        try #require(symlink("folder/target", folder.path("link")) == 0)
        try #require(symlink(folder.path("link"), folder.path("second")) == 0)
        try #require(symlink("folder/new", folder.path("dangling")) == 0)
        for name in ["second", "dangling"] {
            let file = try file(name)
            try file.append(Data(name.utf8))
            try file.finish()
        }
        #expect(names == ["dangling", "folder", "link", "second"])
        #expect(try Data(contentsOf: folder.url("folder/target")) == Data("second".utf8))
        #expect(try Data(contentsOf: folder.url("folder/new")) == Data("dangling".utf8))
    }

    @Test func aNameMayBeAsLongAsNamesCanBe() throws {
        let name = String(repeating: "x", count: 255)
        let file = try file(name)
        try file.append(content)
        try file.finish()
        #expect(names == [name])
    }

    @Test func onlyRegularFilesAreReplaced() throws {
        try folder.write(content, to: "folder/file")
        try #require(mkfifo(folder.path("pipe"), 0o600) == 0)
        try #require(symlink("loop", folder.path("loop")) == 0)
        for (name, number) in [("folder", EISDIR), ("pipe", EOPNOTSUPP), ("missing/file", ENOENT)] {
            #expect(throws: WebImageError.file(path: folder.path(name), errno: number)) { _ = try file(name) }
        }
        #expect(names == ["folder", "loop", "pipe"])
    }

    @Test func aFailureToWriteIsAnError() throws {
        let file = try file()
        // No file system takes a byte there.
        #expect(throws: WebImageError.file(path: folder.path("file"), errno: EFBIG)) {
            try file.overwrite(content, at: Int.max - 100)
        }
    }
}
