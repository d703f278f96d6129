import Testing

@testable import WebImageLoading

@Suite struct HTTPChallengeTests {
    @Test(arguments: [
        (["Basic realm=\"a b\""], [HTTPChallenge(scheme: "basic", realm: "a b")]),
        (["BASIC Realm=token"], [HTTPChallenge(scheme: "basic", realm: "token")]),
        (["Basic realm=\"a \\\"b\\\", c=d\""], [HTTPChallenge(scheme: "basic", realm: "a \"b\", c=d")]),
        (
            ["Digest realm=\"r\", qop=\"auth, auth-int\", nonce=n==, Basic realm = \"s\""],
            [HTTPChallenge(scheme: "digest", realm: "r"), HTTPChallenge(scheme: "basic", realm: "s")]
        ),
        (
            ["Negotiate", "Bearer", "Basic"],
            [
                HTTPChallenge(scheme: "negotiate", realm: nil), HTTPChallenge(scheme: "bearer", realm: nil),
                HTTPChallenge(scheme: "basic", realm: nil),
            ]
        ),
        (["Basic realm=\"never ends"], [HTTPChallenge(scheme: "basic", realm: "never ends")]),
        (["Basic realm=\"ends in \\"], [HTTPChallenge(scheme: "basic", realm: "ends in \\")]),
        (["", " , ,", "=", "=\"", "realm=\"x\""], []),
    ])
    func readsEveryChallengeOfEveryField(values: [String], expected: [HTTPChallenge]) {
        #expect(HTTPChallenge.parse(values) == expected)
    }

    @Test func prefersTheSchemeThatShowsTheLeast() {
        let challenges = HTTPChallenge.parse(["Basic realm=b, Digest realm=d", "Bearer realm=t"])
        #expect(challenges.preferred?.scheme == .digest)
        #expect(challenges.preferred?.realm == "d")
        #expect(HTTPChallenge.parse(["Bearer, Basic realm=b"]).preferred?.scheme == .basic)
        #expect(HTTPChallenge.parse(["Negotiate, NTLM"]).preferred == nil)
    }
}
