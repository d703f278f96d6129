import Foundation
import Testing
import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct ByteStringTests {
    @Test(
        arguments: [
            (Array("né.png".utf8), "né.png"), ([0x61, 0xFF, 0x62], #"a\xFFb"#),
            ([0xC3], #"\xC3"#), ([0xC3, 0xC3, 0xA9], #"\xC3é"#),
            ([0xE2, 0x80, 0x2E], #"\xE2\x80."#),
            // A surrogate and an overlong slash are not UTF-8.
            ([0xED, 0xA0, 0x80], #"\xED\xA0\x80"#), ([0xC0, 0xAF], #"\xC0\xAF"#), ([], ""),
        ] as [([UInt8], String)])
    func describesBytesThatAreNotUTF8(bytes: [UInt8], description: String) {
        let text = ByteString(bytes)
        #expect(text.description == description)
        #expect((text.text != nil) == !description.contains(#"\"#))
        #expect(text.withCString { ByteString(cString: $0) } == text)
    }

    @Test func aPathHasAURL() throws {
        let path = ByteString("/a b/%41?#".utf8 + [0xFF])
        #expect(path.fileURL.absoluteString == "file:///a%20b/%2541%3F%23%FF")
        #expect(ByteString(fileURL: path.fileURL) == path)
        let relative = ByteString("x")
        #expect(relative.fileURL.path == FileManager.default.currentDirectoryPath + "/x")
        #expect(ByteString(fileURL: URL(filePath: "/tmp/é.png")) == ByteString("/tmp/é.png"))
    }

    @Test(arguments: ["file://host/a", "http://localhost/a", "file:///a%00b", "data:/a", "file:a"])
    func othersHaveNoPath(address: String) throws {
        #expect(ByteString(fileURL: try #require(URL(string: address))) == nil)
    }
}
