import Foundation
import Testing
import WebImage

@testable import WebImageCLI

@Suite(.timeLimit(.minutes(3))) struct OutputNamesTests {
    private func names(_ addresses: String..., ending: OutputNames.Ending = .own) -> [String] {
        var names = OutputNames()
        return addresses.map { names.name(for: URL(string: $0), ending: ending).fileName(for: .jpeg).description }
    }

    @Test func usesTheLastPathComponent() {
        #expect(names("http://h/a/b.png", "http://h/c.d.jpeg?x=1.gif#y") == ["b.png", "c.d.jpeg"])
        #expect(names("http://h/caf%C3%A9%20noir.png") == ["café noir.png"])
    }

    @Test func addsAMissingExtension() {
        #expect(names("http://h/a", "http://h/b.", "http://h/v1.0%20final") == ["a.jpg", "b..jpg", "v1.0 final.jpg"])
    }

    @Test func usesADefaultNameForURLsWithoutOne() {
        #expect(
            names("http://h", "http://h/", "http://h/..", "http://h/%2E%2E") == [
                "image.jpg", "image-2.jpg", "image-3.jpg", "image-4.jpg",
            ])
    }

    @Test func neverCreatesHiddenFilesOrLeavesTheDirectory() {
        #expect(names("http://h/.profile", "http://h/..%2F..%2Fetc%2Fpasswd") == ["profile.jpg", "passwd.jpg"])
        #expect(names("http://h/a%0Ab%7F.png") == ["a_b_.png"])
        #expect(names("http://h/a%C2%9Bb%E2%80%AEgnp.exe") == ["a_b_gnp.exe.jpg"])
    }

    /// Only the extension of an image format says what a file is.
    @Test func addsTheExtensionOfTheImageToAnyOther() {
        #expect(
            names("http://h/image.php?id=1", "http://h/v1.2", "http://h/a.JPE") == [
                "image.php.jpg", "v1.2.jpg", "a.JPE",
            ])
        #expect(names("http://h/image.php", ending: .format(.webp)) == ["image.webp"])
    }

    @Test func keepsBytesThatAreNotUTF8() {
        #expect(
            names("http://h/%FF%C3%A9%C3.png", "http://h/%FF%C3%A9%C3.png") == [#"\xFFé\xC3.png"#, #"\xFFé\xC3-2.png"#])
    }

    @Test func namesAreUnique() {
        #expect(
            names("http://h/a.png", "http://h/x/a.png", "http://h/a.jpg", "http://h/a-2.png")
                == ["a.png", "a-2.png", "a.jpg", "a-2-2.png"])
        // The first may become "a.png" or anything else once its format is known.
        #expect(names("http://h/a", "http://h/a.png") == ["a.jpg", "a-2.png"])
        #expect(names("http://h/a.png", "http://h/a") == ["a.png", "a-2.jpg"])
    }

    @Test func usesTheExtensionOfTheOutputFormat() {
        #expect(names("http://h/a.png", "http://h/a.gif", ending: .format(.webp)) == ["a.webp", "a-2.webp"])
        #expect(names("http://h/a.png", ending: .image) == ["a.jpg"])
    }

    @Test func shortensNamesTooLongForFileSystems() {
        let name = names("http://h/" + String(repeating: "%C3%A9", count: 300) + ".png")[0]
        #expect(name.utf8.count <= 255 - 20)
        #expect(name.hasSuffix("é.png"))
    }
}
