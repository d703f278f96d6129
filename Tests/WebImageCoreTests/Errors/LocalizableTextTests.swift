import SystemText
import Testing

@Suite(.timeLimit(.minutes(3))) struct LocalizableTextTests {
    @Test func hasItsValuesInPlace() {
        let (name, other): (String, LocalizableText) = ("a{1}b", "in \(2) parts")
        let text: LocalizableText = "'\(name)' is {index}, \(other); {\(3)}"
        #expect(text.english == "'a{1}b' is {index}, in 2 parts; {3}")
        #expect(LocalizableText.joined([text, "end"], by: ": ").english == "\(text.english): end")
        #expect(LocalizableText(verbatim: "{1} {2}").english == "{1} {2}")
    }

    @Test(arguments: [(0, "0 images of 9"), (1, "one image of 9"), (2, "2 images of 9")])
    func saysCounts(count: Int, text: String) {
        #expect(LocalizableText.counted("one image of \(9)", "\(count) images of \(9)", count).english == text)
    }

    @Test func describesErrorsOfTheSystem() {
        let text: LocalizableText = "it failed (\(systemError: 2))"
        #expect(text.english == "it failed (No such file or directory)")
    }

    /// Where there is no file with translations.
    @Test func isInEnglishWithoutATranslation() {
        let domain = TextDomain("webimage-absent", folder: "/nonexistent")
        #expect(domain.string(for: "'\("a")' is a folder") == "'a' is a folder")
        #expect(domain.string(for: .counted("\(1) image", "\(1) images", 1)) == "1 image")
        #expect(domain.string(for: "").isEmpty, "the translation of an empty text is the head of the file")
        #expect(
            domain.counted("{count} image in {x}", "{count} images in {x}", count: 2, ["x": "y"]) == "2 images in y")
    }
}
