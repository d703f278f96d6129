import Testing
import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct CredentialRedactionTests {
    @Test(arguments: [
        ("http://me:pw@h/a", "http://h/a"), ("see http://me@h, ftp://x:y@h", "see http://h, ftp://h"),
        ("//me:pw@h/a", "//h/a"), ("http://me:p@w@h/a", "http://h/a"),
        ("'//me:pw@h/a'", "'//h/a'"), ("http://h/a@b", "http://h/a@b"), ("http://h?q=a@b", "http://h?q=a@b"),
        // Slashes in a path.
        ("photos//a@2x.png: missing", "photos//a@2x.png: missing"), ("http://h//a@2x.png", "http://h//a@2x.png"),
        ("", ""), ("//", "//"),
    ])
    func removesUserInformation(text: String, shown: String) {
        #expect(CredentialRedaction.removingUserInformation(from: text) == shown)
    }

    @Test(arguments: [
        ("http://me:p'w@h/a", "http://h/a"), ("http://me:p w@h/a@b", "http://h/a@b"), ("http://h/a", "http://h/a"),
        ("a//b@2x.png", "a//b@2x.png"), ("//me@h/a", "//h/a"), ("http://me:p@w@h/a", "http://h/a"),
    ])
    func removesUserInformationOfOneURL(text: String, shown: String) {
        #expect(CredentialRedaction.removingUserInformation(fromURL: text) == shown)
    }
}
