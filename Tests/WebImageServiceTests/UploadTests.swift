import Foundation
import Testing
import WebImage
import WebImageTestSupport

@testable import WebImageService

/// Files from clients that are not trusted.
@Suite(.timeLimit(.minutes(1)))
struct UploadTests {
    private func service(_ change: (inout ImageService.Configuration) -> Void = { _ in }) throws -> ImageService {
        var configuration = ServiceFixture.configuration
        change(&configuration)
        return try ImageService(configuration)
    }

    /// Pieces of at most `count` bytes, and how many were read.
    private func pieces(
        _ data: Data, of count: Int = 1000, read: LockBox<Int> = LockBox(0), error: (any Error)? = nil
    ) -> AsyncThrowingStream<Data, any Error> {
        let offset = LockBox(0)
        return AsyncThrowingStream<Data, any Error>(unfolding: {
            let start = offset.withLock { $0 }
            if start >= data.count {
                if let error { throw error }
                return nil
            }
            let end = min(start + count, data.count)
            offset.withLock { $0 = end }
            read.withLock { $0 = end }
            return data[start..<end]
        })
    }

    private var jpeg: Data {
        get throws {
            let large = try CodecRegistry.shared.encode(ServiceFixture.picture(width: 800, height: 400), as: .jpeg)
            let small = try CodecRegistry.shared.encode(ServiceFixture.picture(width: 80, height: 40), as: .jpeg)
            return PhotographFile.file(large, orientation: 6, thumbnail: small)
        }
    }

    @Test func filesAreMadeWithoutMetadata() async throws {
        let policy = UploadPolicy(results: ["image": "rs:fit:200:200/f:jpg", "small": "w:20/f:png", "kept": "raw:1"])
        let upload = try await service().take(pieces(jpeg), policy)
        #expect(upload.format == .jpeg && upload.size == PixelSize(width: 400, height: 800) && upload.frameCount == 1)
        #expect(Set(upload.files.keys) == ["image", "small", "kept"])
        let image = try #require(upload.files["image"])
        #expect(image.contentType == "image/jpeg" && image.fileExtension == "jpg")
        #expect(try CodecRegistry.shared.info(of: image.data).size == PixelSize(width: 100, height: 200))
        #expect(try CodecRegistry.shared.metadata(of: image.data).exif == nil)
        #expect(try upload.files["kept"]?.data == jpeg)
        #expect(upload.blurHash.count > 6 && !upload.thumbHash.isEmpty && upload.perceptualHash.count == 16)
    }

    @Test func filesKeepTheFormatOfTheUpload() async throws {
        let (codecs, service) = (CodecRegistry.shared, try service())
        let picture = try ServiceFixture.picture(width: 40, height: 20)
        let policy = UploadPolicy(results: [
            "kept": "w:20", "jpeg": "w:20/f:jpg", "best": "w:20/f:best", "clear": "ex:1/w:20/h:20",
        ])
        for format in [ImageFormat.jpeg, .png, .gif, .webp, .avif] {
            let upload = try await service.take(pieces(codecs.encode(picture, as: format)), policy)
            let kept = try #require(upload.files["kept"])
            #expect(kept.contentType == format.mimeType && ImageFormat(signatureOf: kept.data) == format)
            #expect(upload.files["jpeg"]?.contentType == "image/jpeg")
            // What is between an image and its canvas is transparent.
            #expect(upload.files["clear"]?.contentType == (format == .jpeg ? "image/png" : format.mimeType))
        }
        var animation = EncodableAnimation()
        for _ in 0..<2 { animation.append(picture) }
        for format in [ImageFormat.gif, .webp] {
            let upload = try await service.take(pieces(codecs.encode(animation, as: format)), UploadPolicy())
            #expect(upload.files["image"]?.contentType == format.mimeType && upload.frameCount == 2)
            let file = try #require(upload.files["image"]?.data)
            #expect(try codecs.info(of: file).frameCount == 2)
        }
    }

    @Test func whatIsNoImageIsRefusedAfterItsBeginning() async throws {
        let read = LockBox(0)
        let page = Data(repeating: UInt8(ascii: "<"), count: 1_000_000)
        await #expect(throws: UploadRejection.notAccepted(format: nil)) {
            try await service().take(pieces(page, read: read))
        }
        #expect(read.withLock { $0 } < 10_000)
        await #expect(throws: UploadRejection.notAccepted(format: nil)) { try await service().take(pieces(Data())) }
    }

    @Test func otherFormatsThanAllowedOrClaimedAreRefused() async throws {
        var policy = UploadPolicy()
        policy.formats = [.png]
        await #expect(throws: UploadRejection.notAccepted(format: .jpeg)) {
            try await service().take(pieces(jpeg), policy)
        }
        policy = UploadPolicy()
        policy.claimedType = "image/png"
        await #expect(throws: UploadRejection.otherType(claimed: "image/png", actual: "image/jpeg")) {
            try await service().take(pieces(jpeg), policy)
        }
        policy.claimedType = "image/jpeg; charset=x"
        _ = try await service().take(pieces(jpeg), policy)
    }

    @Test func longAndDamagedFilesAndBombsAreRefused() async throws {
        var policy = UploadPolicy()
        policy.byteLimit = 5000
        await #expect(throws: UploadRejection.tooLong(limit: 5000)) { try await service().take(pieces(jpeg), policy) }
        let half = try jpeg.prefix(jpeg.count / 2)
        let rejection = await #expect(throws: UploadRejection.self) { try await service().take(pieces(half)) }
        guard case .refused(422, _) = rejection else {
            Issue.record("\(String(describing: rejection))")
            return
        }
        let bomb = await #expect(throws: UploadRejection.self) {
            try await service { $0.limits.decoding.pixelCount = 1000 }.take(pieces(jpeg))
        }
        guard case .refused(413, _) = bomb else {
            Issue.record("\(String(describing: bomb))")
            return
        }
    }

    @Test func theLimitsOfTheServiceHold() async throws {
        await #expect(throws: UploadRejection.tooLong(limit: 4000)) {
            try await service { $0.limits.sourceByteCount = 4000 }.take(pieces(jpeg))
        }
        func status(_ change: (inout ImageService.Configuration) -> Void, isStopped: Bool = false) async throws -> Int {
            let service = try service(change)
            if isStopped { await service.stop() }
            let rejection = await #expect(throws: UploadRejection.self) { try await service.take(pieces(jpeg)) }
            guard case .refused(let status, _) = rejection else { return 0 }
            return status
        }
        #expect(try await status({ _ in }, isStopped: true) == 503)
        #expect(try await status { $0.limits.time = .zero } == 504)
        #expect(try await status { $0.limits.transferTime = .zero } == 408)
        #expect(try await status { $0.limits.resultByteCount = 100 } == 422)
    }

    @Test func anUploadThatSendsNothingEndsWithItsTime() async throws {
        let service = try service { $0.limits.transferTime = .milliseconds(100) }
        let slow = UploadRejection.refused(status: 408, reason: "The upload took too long.")
        let (stream, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
        await #expect(throws: slow) { try await service.take(stream) }
        continuation.finish()
        // Even if its pieces do not notice the cancellation.
        await #expect(throws: slow) { try await service.take(SilentPieces()) }
    }

    @Test func aPartOfAnUploadIsNotTakenForAllOfIt() async throws {
        let service = try service()
        let (stream, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
        continuation.yield(try jpeg)
        let task = Task { try await service.take(stream) }
        while service.uploads.runningCount < 1, !Task.isCancelled { await Task.yield() }
        task.cancel()
        await #expect(throws: UploadRejection.interrupted) { try await task.value }
    }

    @Test func uploadsThatArriveAreCounted() async throws {
        let service = try service {
            $0.limits.workCount = 1
            $0.limits.queueLength = 1
        }
        let streams = (0..<2).map { _ in AsyncThrowingStream<Data, any Error>.makeStream() }
        let tasks = streams.map { stream in Task { try await service.take(stream.stream) } }
        while service.uploads.runningCount < 2, !Task.isCancelled { await Task.yield() }
        let rejection = await #expect(throws: UploadRejection.self) { try await service.take(pieces(jpeg)) }
        guard case .refused(429, _) = rejection else {
            Issue.record("\(String(describing: rejection))")
            return
        }
        for stream in streams { stream.continuation.finish() }
        for task in tasks {
            await #expect(throws: UploadRejection.notAccepted(format: nil)) { try await task.value }
        }
        #expect(service.uploads.runningCount == 0)
        _ = try await service.take(pieces(jpeg))
    }

    /// Uploads that arrive slowly, or wait for a place, have a limit on their memory together.
    @Test func theBytesOfAllUploadsAreLimited() async throws {
        let file = try jpeg
        let service = try service { $0.limits.uploadByteCount = file.count * 3 / 2 }
        let (stream, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
        for start in stride(from: 0, to: file.count, by: 1000) { continuation.yield(file[start...].prefix(1000)) }
        let slow = Task { try await service.take(stream) }
        while service.uploadBytes.heldByteCount < file.count, !Task.isCancelled { await Task.yield() }
        let overloaded = UploadRejection.refused(status: 429, reason: "Too many images are being made.")
        await #expect(throws: overloaded) { try await service.take(pieces(file)) }
        #expect(service.uploadBytes.heldByteCount == file.count)
        continuation.finish()
        _ = try await slow.value
        while service.uploadBytes.heldByteCount > 0, !Task.isCancelled { await Task.yield() }
        _ = try await service.take(pieces(file))
        // What never fits is too long.
        let small = try self.service { $0.limits.uploadByteCount = 4000 }
        await #expect(throws: UploadRejection.tooLong(limit: 4000)) { try await small.take(pieces(file)) }
    }

    @Test func anUploadWaitsForItsPlaceNoLongerThanItsTime() async throws {
        let service = try service {
            $0.limits.workCount = 1
            $0.limits.queueLength = 1
            $0.limits.time = .milliseconds(100)
        }
        let (held, release) = AsyncStream<Void>.makeStream()
        let holder = Task { try await service.places.run { for await _ in held {} } }
        while service.places.runningCount < 1, !Task.isCancelled { await Task.yield() }
        let late = UploadRejection.refused(status: 504, reason: "The image was not ready in time.")
        await #expect(throws: late) { try await service.take(pieces(jpeg)) }
        while service.places.waitingCount > 0 || service.uploadBytes.heldByteCount > 0, !Task.isCancelled {
            await Task.yield()
        }
        release.finish()
        _ = try await holder.value
    }

    @Test func oneResultThatCannotBeMadeRefusesAll() async throws {
        for options in ["w:x", "c:10:10/f:exe", "wm:1", "rs:force:20000:20000:1"] {
            let policy = UploadPolicy(results: ["a": "w:10", "b": options])
            await #expect(throws: UploadRejection.self, "\(options)") { try await service().take(pieces(jpeg), policy) }
        }
    }

    @Test func aClientThatStopsSendingIsAnError() async throws {
        await #expect(throws: UploadRejection.interrupted) {
            try await service().take(pieces(jpeg, error: CancellationError()))
        }
        let full = try service {
            $0.limits.workCount = 1
            $0.limits.queueLength = 0
        }
        let rejection = await #expect(throws: UploadRejection.self) {
            try await full.places.run { () async -> Result<Upload, any Error> in
                do { return .success(try await full.take(pieces(try jpeg))) } catch { return .failure(error) }
            }?.get()
        }
        guard case .refused(429, _) = rejection else {
            Issue.record("\(String(describing: rejection))")
            return
        }
    }
}

/// Pieces that never come.
private struct SilentPieces: AsyncSequence, AsyncIteratorProtocol {
    func makeAsyncIterator() -> SilentPieces { self }

    func next() async throws -> Data? {
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        return nil
    }
}
