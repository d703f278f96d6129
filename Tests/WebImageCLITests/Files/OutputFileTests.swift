import Foundation
import Testing
import WebImage
import WebImageTestSupport

@testable import WebImageCLI

@Suite struct OutputFileTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func permissions(of name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: directory.path(name))[.posixPermissions] as? Int
    }

    @Test(arguments: [0o600, 0o664, 0o755])
    func keepsThePermissionsOfWhatItReplaces(permissions: Int) throws {
        try directory.write(Data("old".utf8), to: "a")
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: directory.path("a"))
        try OutputFile.write(Data("new".utf8), to: directory.path("a"))
        #expect(try Data(contentsOf: directory.url("a")) == Data("new".utf8))
        #expect(try self.permissions(of: "a") == permissions)
    }

    @Test func givesANewFileThePermissionsThatTheUserWants() throws {
        // Foundation heeds the process's mask too.
        try directory.write(Data(), to: "other")
        try OutputFile.write(Data("new".utf8), to: directory.path("a"))
        #expect(try permissions(of: "a") == permissions(of: "other"))
    }
}
