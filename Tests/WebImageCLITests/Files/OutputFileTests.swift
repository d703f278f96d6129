import Foundation
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

    @Test func refusesALinkToItself() throws {
        symlink("loop", directory.path("loop"))
        #expect(throws: WebImageError.file(path: directory.path("loop"), errno: ELOOP)) {
            try OutputFile.write(Data("new".utf8), to: SystemString(directory.path("loop")))
        }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: directory.path("loop")) == "loop")
    }
}
