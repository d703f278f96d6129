import Foundation
import Testing
import WebImage
import WebImageTestSupport

@testable import WebImageService

@Suite(.timeLimit(.minutes(1)))
struct StopTests {
    private let encoder = HeldEncoder()

    private func fixture(_ change: (inout ImageService.Configuration) -> Void = { _ in }) async throws -> ServiceFixture
    {
        let fixture = try ServiceFixture { configuration in
            let codecs = CodecRegistry()
            codecs.register(encoder)
            configuration.images.codecs = codecs
            change(&configuration)
        }
        try await fixture.serve("/a.png", width: 40, height: 30)
        return fixture
    }

    @Test func aStoppingServiceHasWhatIsInMemory() async throws {
        let fixture = try ServiceFixture()
        try await fixture.serve("/a.png", width: 40, height: 30)
        _ = try await fixture.get("/w:20/plain/{}/a.png")
        await fixture.service.stop()
        #expect(try await fixture.get("/w:20/plain/{}/a.png").status == 200)
        let refused = try await fixture.get("/w:21/plain/{}/a.png")
        #expect(refused.status == 503 && refused.header("Retry-After") != nil)
        #expect(!fixture.service.isReady)
    }

    @Test(arguments: [false, true])
    func stoppingWaitsForResultsInProgress(clientLeaves: Bool) async throws {
        let directory = try TemporaryDirectory()
        let fixture = try await fixture { $0.disk = ServiceFixture.disk(in: directory) }
        let service = fixture.service
        let request = Task { try await fixture.get("/w:20/plain/{}/a.png@bmp") }
        while !encoder.hasBegun, !Task.isCancelled { await Task.yield() }
        if clientLeaves {
            request.cancel()
            #expect(try await request.value.status == 499)
        }
        let stop = Task {
            await service.stop()
            return service.counters.running
        }
        while service.isReady, !Task.isCancelled { await Task.yield() }
        #expect(try await fixture.get("/w:21/plain/{}/a.png@bmp").status == 503)
        encoder.release()
        #expect(await stop.value == 0)
        guard !clientLeaves else { return }
        // It was answered, and is on disk.
        #expect(try await request.value.status == 200)
        let next = try ServiceFixture(fixture.origin) { $0.disk = ServiceFixture.disk(in: directory) }
        #expect(try await next.get("/w:20/plain/{}/a.png@bmp").header("Cache-Status")?.hasSuffix("disk") == true)
    }

    @Test func stoppingWaitsForUploads() async throws {
        let service = try await fixture().service
        let (pieces, sink) = AsyncThrowingStream<Data, any Error>.makeStream()
        let upload = Task { try await service.take(pieces, UploadPolicy(results: ["a": "w:20/f:bmp"])) }
        while service.uploads.runningCount < 1, !Task.isCancelled { await Task.yield() }
        let stop = Task {
            await service.stop()
            return service.counters.running
        }
        while service.isReady, !Task.isCancelled { await Task.yield() }
        // It has begun, so it is taken.
        sink.yield(try CodecRegistry.shared.encode(ServiceFixture.picture(width: 40, height: 30), as: .png))
        sink.finish()
        while !encoder.hasBegun, !Task.isCancelled { await Task.yield() }
        encoder.release()
        #expect(try await upload.value.files["a"] != nil)
        #expect(await stop.value == 0)
    }

    @Test func workThatDoesNotEndDoesNotDelayTheStopForLong() async throws {
        let fixture = try await fixture { $0.limits.time = .milliseconds(500) }
        let request = Task { try await fixture.get("/w:20/plain/{}/a.png@bmp") }
        while !encoder.hasBegun, !Task.isCancelled { await Task.yield() }
        await fixture.service.stop()
        #expect(fixture.service.counters.running == 1)
        encoder.release()
        #expect(try await request.value.status == 504)
    }
}

/// An encoder that ends when it is told to, and not when it is cancelled.
private final class HeldEncoder: ImageEncoder {
    private let begun = LockBox(false), gate = DispatchSemaphore(value: 0)

    var format: ImageFormat { .bmp }
    var hasBegun: Bool { begun.withLock { $0 } }

    func release() { gate.signal() }

    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        begun.withLock { $0 = true }
        // Its test has failed after so long.
        _ = gate.wait(timeout: .now() + 30)
        return Data("BM".utf8)
    }
}
