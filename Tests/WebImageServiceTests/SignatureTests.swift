import Foundation
import Testing
import WebImageTestSupport

@testable import WebImageService

@Suite(.timeLimit(.minutes(1)))
struct SignatureTests {
    private func key(_ key: String = "736563726574", _ salt: String = "68656c6c6f") throws -> SigningKey {
        try #require(SigningKey(hexKey: key, hexSalt: salt))
    }

    /// Computed by Python's hmac.
    @Test(arguments: [
        (
            "/rs:fill:300:400:0/g:sm/aHR0cDovL2V4YW1w/bGUuY29tL2ltYWdl/cy9jdXJpb3NpdHku/anBn.png", 32,
            "oKfUtW34Dvo2BGQehJFR4Nr0_rIjOtdtzJ3QFsUcXH8"
        ),
        ("/rs:fill:300:400:0/g:sm/aHR0cDovL2V4YW1w/bGUuY29tL2ltYWdl/cy9jdXJpb3NpdHku/anBn.png", 8, "oKfUtW34Dvo"),
        ("/plain/https://example.org/a.jpg@webp", 32, "HgCLNSzEcbQEnahrg8x0B2triWgH1jVDs23p9bKrdXQ"),
        ("/plain/https://example.org/a.jpg@webp", 8, "HgCLNSzEcbQ"),
    ])
    func signaturesAreThoseOfOtherPrograms(path: String, byteCount: Int, signature: String) throws {
        #expect(try key().signature(of: path, byteCount: byteCount) == signature)
    }

    /// Random keys, salts and paths.
    @Test func signaturesAreThoseOfPython() throws {
        let script = """
            import sys, hmac, hashlib, base64
            for line in sys.stdin:
                key, salt, path = line.split(' ')
                digest = hmac.new(bytes.fromhex(key), bytes.fromhex(salt) + path.strip().encode(), hashlib.sha256).digest()
                print(base64.urlsafe_b64encode(digest).rstrip(b'=').decode(), flush=True)
            """
        var random = SplitMix64(seed: 37)
        let cases = (0..<50).map { _ in
            func digits(_ count: Int) -> String {
                (0..<count * 2).map { _ in String(Int.random(in: 0..<16, using: &random), radix: 16) }.joined()
            }
            let path = "/w:\(Int.random(in: 1...999, using: &random))/plain/https://example.org/ä.jpg"
            return (key: digits(Int.random(in: 1...100, using: &random)), salt: digits(8), path: path)
        }
        let (python, input, output) = (Process(), Pipe(), Pipe())
        python.executableURL = URL(filePath: "/usr/bin/python3")
        python.arguments = ["-c", script]
        (python.standardInput, python.standardOutput) = (input, output)
        try python.run()
        input.fileHandleForWriting.write(Data(cases.map { "\($0.key) \($0.salt) \($0.path)\n" }.joined().utf8))
        try input.fileHandleForWriting.close()
        let lines = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self).split(
            separator: "\n")
        #expect(try lines == cases.map { try key($0.key, $0.salt).signature(of: $0.path)[...] })
    }

    @Test func onlyTheRightSignatureIsAccepted() throws {
        let (path, own) = ("/w:10/plain/a", try key())
        // The key may be any of them.
        let (keys, right) = ([try key("00", ""), own, try key("01", "")], own.signature(of: path))
        let check = SignatureCheck(keys: keys, byteCount: 32, trusted: ["letmein"])
        try check.check(right, of: path)
        try check.check("letmein", of: path)
        for wrong in [
            "", "_", "unsafe", right + "A", String(right.dropLast()), String(right.reversed()), right.uppercased(),
            "letmei", "ä", "=",
        ] {
            #expect(throws: Refusal.forbiddenSignature, "\(wrong)") { try check.check(wrong, of: path) }
        }
        #expect(throws: Refusal.forbiddenSignature) { try check.check(right, of: path + "0") }
    }

    /// The last character has bits that are not of the signature, and some decoders ignore what is behind it.
    @Test func aSignatureHasOneText() throws {
        let own = try key()
        for byteCount in [32, 31, 16, 8] {
            let check = SignatureCheck(keys: [own], byteCount: byteCount, trusted: [])
            let right = own.signature(of: "/a", byteCount: byteCount)
            let characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/="
            #expect(
                characters.filter { (try? check.check(right.dropLast() + String($0), of: "/a")) != nil }
                    == String(right.suffix(1)))
            for more in ["=", "==", "===", " ", "\n", "%3D", "A", "."] {
                #expect(throws: Refusal.forbiddenSignature) { try check.check(right + more, of: "/a") }
            }
        }
        // This one has both characters that other alphabets have others for.
        let path = try #require(
            (0..<1000).map { "/w:\($0)" }.first {
                own.signature(of: $0).contains("-") && own.signature(of: $0).contains("_")
            })
        let (check, right) = (SignatureCheck(keys: [own], byteCount: 32, trusted: []), own.signature(of: path))
        try check.check(right, of: path)
        for other in [right.replacing("-", with: "+"), right.replacing("_", with: "/")] {
            #expect(throws: Refusal.forbiddenSignature) { try check.check(other, of: path) }
        }
    }

    /// A signature of an image is not one of its description, nor the other way around.
    @Test func aSignatureIsForOnePurpose() async throws {
        let own = try key()
        let fixture = try ServiceFixture { $0.keys = [own] }
        try await fixture.serve("/a.png", width: 8, height: 8)
        let path = try "/plain/" + fixture.origin.url("/a.png").absoluteString
        func status(_ target: String) async -> Int {
            await fixture.service.answer(to: ServiceRequest(target: target)).status
        }
        let (image, description) = (own.signature(of: path), own.signature(of: "/info" + path))
        #expect(await status("/\(image)\(path)") == 200)
        #expect(await status("/info/\(description)\(path)") == 200)
        for target in [
            "/\(description)\(path)", "/\(description)/info\(path)", "/info/\(image)\(path)", "/info/_\(path)",
            "/_\(path)",
        ] {
            let found = await status(target)
            #expect([400, 403].contains(found), "\(target)")
        }
        #expect(await status("/info/_\(path)") == 403)
    }

    /// The lengths are 1 to 32.
    @Test(arguments: [(32, 32), (8, 8), (33, 32), (0, 1)])
    func theServiceAcceptsSignaturesOfItsLengthAndTrustedTexts(setting: Int, byteCount: Int) async throws {
        let own = try key()
        let fixture = try ServiceFixture {
            $0.keys = [own]
            $0.signatureByteCount = setting
            $0.trustedSignatures = ["letmein", "other"]
        }
        try await fixture.serve("/a.png", width: 8, height: 8)
        let path = try "/plain/" + fixture.origin.url("/a.png").absoluteString
        func status(_ signature: String) async -> Int {
            await fixture.service.answer(to: ServiceRequest(target: "/\(signature)\(path)")).status
        }
        for signature in [own.signature(of: path, byteCount: byteCount), "letmein", "other"] {
            #expect(await status(signature) == 200, "\(signature)")
        }
        for signature in [own.signature(of: path, byteCount: byteCount == 32 ? 31 : byteCount + 1), "letmein2", "_"] {
            #expect(await status(signature) == 403, "\(signature)")
        }
    }

    @Test func noTextIsTrustedByDefault() async throws {
        let own = try key()
        let fixture = try ServiceFixture { $0.keys = [own] }
        for signature in ["letmein", "unsafe", "insecure"] {
            let answer = await fixture.service.answer(to: ServiceRequest(target: "/\(signature)/plain/local:///a.png"))
            #expect(answer.status == 403, "\(signature)")
        }
    }

    @Test func aTruncatedSignatureHasExactlyItsLength() throws {
        let own = try key()
        let check = SignatureCheck(keys: [own], byteCount: 8, trusted: [])
        try check.check(own.signature(of: "/a", byteCount: 8), of: "/a")
        for count in [1, 7, 9, 32] {
            #expect(throws: Refusal.self) { try check.check(own.signature(of: "/a", byteCount: count), of: "/a") }
        }
    }

    @Test(arguments: [("", "00"), ("0", "00"), ("0g", "00"), ("00", "0"), ("00", "zz")])
    func invalidKeysAreRefused(key: String, salt: String) { #expect(SigningKey(hexKey: key, hexSalt: salt) == nil) }

    @Test func aKeyAppearsInNoText() throws {
        let own = try key()
        var text = ""
        dump(own, to: &text)
        #expect(!text.contains("115") && "\(own)" == "a hidden key")
    }
}
