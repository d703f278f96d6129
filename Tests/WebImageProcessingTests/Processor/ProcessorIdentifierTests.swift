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

    /// A parameter from outside that would like to look like two, or like another processor.
    private struct Forger: ProcessorParameter {
        let text: String
        var identifierValue: ProcessorIdentifier.Value { .list([.text(text), .number(2)]) }
    }

    @Test func doesNotLetATypeOfYourOwnPassForAnythingElse() {
        let forged = ProcessorIdentifier("label", ["text": Forger(text: "a],size:2)|flip(direction:both")])
        #expect(forged.description == "label(text:[a%5D%2Csize%3A2%29%7Cflip%28direction%3Aboth,2])")
    }

    @Test func tellsAListOfOneEmptyTextFromAnEmptyList() {
        let lists: [[String]] = [[], [""], ["", ""], ["%"]]
        let identifiers = lists.map { ProcessorIdentifier("list", ["of": $0]).description }
        #expect(identifiers == ["list(of:[])", "list(of:[%])", "list(of:[%,%])", "list(of:[%25])"])
    }
}
