import FoundationEssentials
import Testing

@testable import WebImageLoading

/// `Vary: Accept-Language`: requests that ask for the same languages get the same stored answer (RFC 9111, 4.1).
@Suite struct LanguagePreferenceTests {
    private func isServed(_ language: String, storedFor stored: String) -> Bool {
        let response = StoredResponse(
            statusCode: 200, headers: [HTTPField(name: "Vary", value: "Accept-Language")],
            requestHeaders: [HTTPField(name: "Accept-Language", value: stored)], requestTime: Date(),
            responseTime: Date())
        return response.matches([HTTPField(name: "accept-language", value: language)])
    }

    @Test(arguments: [
        ("en, de", "eN, De"), ("en, de", " en ,   de"), ("en, de", "de, en"), ("en,de;q=0.5", "de; q=0.500 , EN;Q=1"),
        ("de-CH;q=1.0", "DE-ch"), ("en;q=0", "en;q=0.000"), ("*;q=0.1, fr", "fr, *;q=0.1"),
    ])
    func theSameLanguagesAreOneAnswer(first: String, second: String) {
        #expect(isServed(second, storedFor: first))
        #expect(isServed(first, storedFor: second))
    }

    @Test(arguments: [
        ("en, de", "en"), ("en", "de"), ("en;q=0.5, de", "en, de;q=0.5"), ("en;q=0", "en"), ("en-US", "en"),
        ("en;level=1", "en"), ("en;q=2", "en"), ("en;q=0.1234", "en;q=0.123"), ("en;q=", "en"), ("en;q=1.5", "en"),
    ])
    func otherLanguagesAreNot(first: String, second: String) {
        #expect(!isServed(second, storedFor: first))
        #expect(!isServed(first, storedFor: second))
    }

    @Test func aFieldOfAnotherFormIsComparedAsItStands() {
        #expect(isServed("en;q=high,de", storedFor: "en;q=high, de"))
        #expect(!isServed("de, en;q=high", storedFor: "en;q=high, de"))
    }
}
