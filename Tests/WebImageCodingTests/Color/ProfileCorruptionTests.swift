import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// Colour profiles that were cut or changed, in pictures: colours at the worst as if there were none.
@Suite struct ProfileCorruptionTests {
    /// Where the profiles of printers, scanners, displays and greys are: in pictures.
    private static let sources = ["p3.jpg", "press.jpg", "gray.jpg", "scanner.png", "table.png", "prophoto.webp"]

    private func profile(in name: String) throws -> Data {
        let data = try Data(contentsOf: Fixture.directory.appending(path: "../color/" + name))
        let profile =
            switch ImageFormat(signatureOf: data) {
            case .jpeg: try JPEGHeader(reading: data.bytes).colorProfile(in: data.bytes)
            case .png: PNGColorChunks(reading: data.bytes).profile
            default: try WebPFile(reading: data.bytes).colorProfile(in: data.bytes)
            }
        return Data(try #require(profile).bytes)
    }

    private func exercise() throws -> ProfileExercise {
        ProfileExercise(
            pictures: try ["grey.jpg", "baseline-444.jpg", "cmyk-adobe.jpg"].map { [UInt8](try Fixture($0).data()) })
    }

    @Test(arguments: sources) func survivesCutsAndFlippedBits(_ name: String) throws {
        let (exercise, profile) = (try exercise(), try profile(in: name))
        #expect(exercise.faults(of: profile) == [])
        for tenth in 0..<10 { #expect(exercise.faults(of: profile.prefix(profile.count * tenth / 10)) == []) }
        var random = SplitMix64(seed: 7)
        for _ in 0..<30 {
            var changed = profile
            // Mostly where it says what is where.
            let limit = Bool.random(using: &random) ? min(400, profile.count) : profile.count
            for _ in 0..<3 {
                changed[Int.random(in: 0..<limit, using: &random)] ^= 1 << UInt8.random(in: 0...7, using: &random)
            }
            #expect(exercise.faults(of: changed) == [])
        }
    }

    /// Profiles that once broke something, as fuzzing found them.
    @Test func staysRepaired() throws {
        let directory = Fixture.directory.appending(path: "../regressions/profiles")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        for name in names {
            #expect(try exercise().faults(of: Data(contentsOf: directory.appending(path: name))) == [], "\(name)")
        }
    }
}
