import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage

/// The memory of bytes that wait to be decoded.
@Suite(.timeLimit(.minutes(1))) struct UndecodedBytesTests {
    @Test func bytesFromDiskCountUntilTheyAreDecoded() async throws {
        let decoder = ProbeDecoder(holdsFirst: true)
        let fixture = try ManagerFixture(decoder: decoder)
        let pipeline = Pipeline(fixture.manager.configuration, undecoded: ByteBudget(byteLimit: 1))
        let ends = Countdown(2)
        for name in ["a", "b"] {
            let url = try ManagerFixture.url(name)
            fixture.cache.disk?.store(try SolidPicture(1).png(), for: url.absoluteString)
            _ = pipeline.join(try #require(pipeline.context(for: WebImageRequest(url)))) { event in
                if case .finished(.success) = event { ends.signal() }
            }
        }
        try await decoder.starts.first()
        #expect(pipeline.undecoded.isFull)
        #expect(decoder.decodeCount == 1, "the second waits for the first's decode")
        decoder.release()
        try await ends.wait()
        #expect(decoder.decodeCount == 2)
        #expect(fixture.loader.loadCount == 0)
    }

    @Test func aBodyFromTheNetworkGoesToAFileWhenTheBudgetIsExhausted() async throws {
        let fixture = try ManagerFixture()
        let pipeline = Pipeline(fixture.manager.configuration, undecoded: ByteBudget(byteLimit: 1))
        let other = pipeline.undecoded.hold(5)
        let ends = Countdown()
        let request = WebImageRequest(try ManagerFixture.url("a")).withoutDisk
        _ = pipeline.join(try #require(pipeline.context(for: request))) { event in
            if case .finished(.success) = event { ends.signal() }
        }
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        try await ends.wait()
        #expect(pipeline.undecoded.heldByteCount == 5, "a file takes no memory")
        withExtendedLifetime(other) {}
    }
}
