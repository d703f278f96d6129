import FoundationEssentials
import Testing
@testable import WebImageLoading
import WebImageTestSupport

@Suite(.timeLimit(.minutes(3))) struct ResponseEncodingTests {
    private func response() -> CachedResponse {
        var response = CachedResponse(
            200, "ETag: \"ü\"\nCache-Control: max-age=60\nVary: Accept, Authorization, X-None",
            requestHeaders: "Accept: a,b\nAuthorization: secret")
        response.isInvalidated = true
        response.redirectLifetime = 12.5
        response.redirectsRequireValidation = true
        response.isRewritten = true
        response.finalURL = "https://host/final"
        response.alternates = [0, 3, 7]
        return response
    }

    @Test func survivesEncodingAndDecoding() throws {
        let response = response()
        #expect(try #require(CachedResponse(encoded: response.encoded)) == response)
        let plain = CachedResponse(404, "")
        #expect(try #require(CachedResponse(encoded: plain.encoded)) == plain)
    }

    @Test func doesNotShowSecrets() {
        let response = response()
        #expect(!String(decoding: response.encoded, as: UTF8.self).contains("secret"))
        #expect(response.matches(fields("Accept: a, b\nAuthorization: secret")))
        #expect(response.firstDifference(from: fields("Accept: a, b\nAuthorization: other")) == "authorization")
    }

    @Test func truncatedOrExtraBytesAreInvalid() {
        let encoded = response().encoded
        for count in 0..<encoded.count where count != encoded.count - 22 {
            #expect(CachedResponse(encoded: encoded.prefix(count)) == nil)
        }
        #expect(CachedResponse(encoded: encoded + [0]) == nil)
        var other = encoded
        other[3] = 9
        #expect(CachedResponse(encoded: other) == nil)
    }

    @Test func decodingAnyBytesDoesNotCrash() {
        var random = SplitMix64(seed: 9)
        let encoded = response().encoded
        for _ in 0..<5000 {
            var bytes = encoded
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 4..<bytes.count, using: &random)] = UInt8.random(in: .min ... .max, using: &random)
            }
            if let response = CachedResponse(encoded: bytes) {
                let decision = HTTPCachePolicy.decide(HTTPCachePolicy.Request(), stored: [response], now: epoch)
                if case .serve(_, let reason) = decision { #expect(!reason.description.isEmpty) }
                #expect(!response.headers(servedAt: epoch).isEmpty)
            }
        }
    }
}

@Suite(.timeLimit(.minutes(3))) struct RedirectRuleTests {
    private func rule(_ redirects: (Int, String)...) -> HTTPCachePolicy.RedirectRule {
        HTTPCachePolicy.RedirectRule(
            redirects.map { ($0.0, fields($0.1)) }, requestTime: epoch, responseTime: epoch)
    }

    @Test func permanentRedirectsWithoutALifetimeSetNoLimit() {
        #expect(rule((301, ""), (308, "")) == rule())
        #expect(rule().lifetime == nil && !rule().requiresValidation)
    }

    @Test func otherRedirectsWithoutALifetimeAreUsedOnce() {
        for status in [302, 303, 307] { #expect(rule((status, "")).lifetime == 0) }
    }

    @Test func theShortestLifetimeCounts() {
        #expect(rule((302, "Cache-Control: max-age=60"), (301, "Cache-Control: max-age=20")).lifetime == 20)
        #expect(rule((302, "Cache-Control: max-age=60\nAge: 50")).lifetime == 10)
        #expect(rule((302, "Cache-Control: max-age=60\nAge: 90")).lifetime == 0)
    }

    @Test func aLifetimeOfThousandsOfYearsCanBeEncoded() throws {
        var response = CachedResponse(200, "Cache-Control: max-age=100")
        rule((302, "Expires: Fri, 31 Dec 9999 23:59:59 GMT")).apply(to: &response)
        let decoded = try #require(CachedResponse(encoded: response.encoded))
        #expect(decoded == response)
        #expect(decoded.isFresh(at: epoch + 99))
    }

    @Test func someRedirectsAreRevalidatedEachTime() {
        #expect(rule((301, "Cache-Control: no-store")).requiresValidation)
        #expect(rule((302, "Cache-Control: no-cache, max-age=60")).requiresValidation)
    }

    @Test func theLifetimeBeginsWhenTheRedirectIsFollowed() {
        var response = CachedResponse(200, "Cache-Control: max-age=100\nAge: 50")
        rule((302, "Cache-Control: max-age=20")).apply(to: &response)
        #expect(Freshness(of: response, now: epoch + 19).isFresh)
        #expect(!Freshness(of: response, now: epoch + 21).isFresh)
        rule((302, "Cache-Control: max-age=90")).apply(to: &response)
        #expect(Freshness(of: response, now: epoch + 49).isFresh)
        #expect(!Freshness(of: response, now: epoch + 51).isFresh)
    }
}
