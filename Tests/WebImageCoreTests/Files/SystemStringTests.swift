import Foundation
import SystemText
import Testing

@Suite(.timeLimit(.minutes(3))) struct SystemStringTests {
    @Test(
        arguments: [
            (Array("né.png".utf8), "né.png", "né.png"), ([0x61, 0xFF, 0x62], #"a\xFFb"#, "a%FFb"),
            ([0xC3], #"\xC3"#, "%C3"), ([0xC3, 0xC3, 0xA9], #"\xC3é"#, "%C3é"),
            ([0xE2, 0x80, 0x2E], #"\xE2\x80."#, "%E2%80."),
            // A surrogate and an overlong slash are not UTF-8.
            ([0xED, 0xA0, 0x80], #"\xED\xA0\x80"#, "%ED%A0%80"), ([0xC0, 0xAF], #"\xC0\xAF"#, "%C0%AF"), ([], "", ""),
        ] as [([UInt8], String, String)])
    func describesBytesThatAreNotUTF8(bytes: [UInt8], description: String, encoded: String) {
        let text = SystemString(bytes)
        #expect(text.description == description && text.percentEncodingInvalidBytes == encoded)
        #expect((text.text != nil) == (description == encoded))
        #expect(SystemString(text.pieces) == text)
        #expect(text.withCString { SystemString(cString: $0) } == text)
    }

    @Test func aPathHasAURL() throws {
        let path = SystemString("/a b/%41?#".utf8 + [0xFF])
        #expect(path.fileURL.absoluteString == "file:///a%20b/%2541%3F%23%FF")
        #expect(SystemString(fileURL: path.fileURL) == path)
        let relative = SystemString("x")
        #expect(relative.fileURL.path == FileManager.default.currentDirectoryPath + "/x")
        #expect(SystemString(fileURL: URL(filePath: "/tmp/é.png")) == SystemString("/tmp/é.png"))
    }

    @Test(arguments: ["file://host/a", "http://localhost/a", "file:///a%00b", "data:/a", "file:a"])
    func othersHaveNoPath(address: String) throws {
        #expect(SystemString(fileURL: try #require(URL(string: address))) == nil)
    }
}
