import Foundation
import ProgramSupport
import Testing
import WebImage
import WebImageCore
import WebImageTestSupport

@testable import WebImageCLI

@Suite(.timeLimit(.minutes(3))) struct OutputFileTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func permissions(of name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: directory.path(name))[.posixPermissions] as? Int
    }

    @Test(arguments: [0o600, 0o664, 0o755])
    func keepsThePermissionsOfAReplacedFile(permissions: Int) throws {
        try directory.write(Data("old".utf8), to: "a")
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: directory.path("a"))
        try OutputFile.write(Data("new".utf8), to: SystemString(directory.path("a")))
        #expect(try Data(contentsOf: directory.url("a")) == Data("new".utf8))
        #expect(try self.permissions(of: "a") == permissions)
    }

    @Test func newFilesFollowTheUmask() throws {
        // Foundation applies the umask too.
        try directory.write(Data(), to: "other")
        try OutputFile.write(Data("new".utf8), to: SystemString(directory.path("a")))
        #expect(try permissions(of: "a") == permissions(of: "other"))
    }

    @Test(arguments: [true, false])
    func writesToTheTargetOfALink(exists: Bool) throws {
        if exists { try directory.write(Data("old".utf8), to: "real/a") } else { mkdir(directory.path("real"), 0o777) }
        let links = ["first": directory.path("second"), "second": "real/a"]
        for (name, target) in links { symlink(target, directory.path(name)) }
        try OutputFile.write(Data("new".utf8), to: SystemString(directory.path("first")))
        for (name, target) in links {
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: directory.path(name)) == target)
        }
        #expect(try Data(contentsOf: directory.url("real/a")) == Data("new".utf8))
    }

    /// The error has the name that the user gave.
    @Test(arguments: ["a", "link"])
    func keepsAFileThatMustNotBeReplaced(name: String) throws {
        try directory.write(Data("old".utf8), to: "a")
        symlink("a", directory.path("link"))
        #expect(throws: WebImageError.file(path: directory.path(name), errno: EEXIST)) {
            try OutputFile.write(Data("new".utf8), to: SystemString(directory.path(name)), replaces: false)
        }
        #expect(try Data(contentsOf: directory.url("a")) == Data("old".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == ["a", "link"])
    }

    @Test func overwritesAllOfAFileInPlace() throws {
        try directory.write(Data("a longer text".utf8), to: "a")
        let reader = try FileHandle(forReadingFrom: directory.url("a"))
        try OutputFile.write(Data("new".utf8), to: SystemString(directory.path("a")), isInPlace: true)
        #expect(try reader.readToEnd() == Data("new".utf8))
        #expect(try Data(contentsOf: directory.url("a")) == Data("new".utf8))
    }

    @Test func leavesNothingOfAFileThatCannotBeWritten() async throws {
        let tool = try Tool()
        _ = try tool.write(TestImage().data(.png), to: "in.png")
        let run = try await tool.run(script: "trap '' XFSZ; ulimit -f 4; \"$tool\" convert in.png out.bmp")
        #expect(run.status == 1 && run.errors.contains("out.bmp: File too large"), "\(run.errors)")
        #expect(tool.names(in: ".").filter { $0.hasPrefix("out") } == [])
    }

    @Test func refusesALinkToItself() throws {
        symlink("loop", directory.path("loop"))
        #expect(throws: WebImageError.file(path: directory.path("loop"), errno: ELOOP)) {
            try OutputFile.write(Data("new".utf8), to: SystemString(directory.path("loop")))
        }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: directory.path("loop")) == "loop")
    }
}
