import Testing
import WebImageProcessing

@Suite struct ProcessorIdentifierTests {
    @Test func namesEveryParameter() {
        let identifier = ProcessorIdentifier("blur", ["radius": 2.5, "mask": Optional<String>.none, "isSoft": true])
        #expect(identifier.description == "blur(radius:2.5,mask:none,isSoft:yes)")
    }

    @Test func hasNoParenthesesWithoutParameters() {
        #expect(ProcessorIdentifier("grayscale").description == "grayscale")
    }

    @Test func doesNotLetAValuePassForOtherParameters() {
        let one = ProcessorIdentifier("label", ["text": "a,size:2"])
        let two = ProcessorIdentifier("label", ["text": "a", "size": 2])
        #expect(one.description == "label(text:a%2Csize%3A2)")
        #expect(one != two)
    }
}
