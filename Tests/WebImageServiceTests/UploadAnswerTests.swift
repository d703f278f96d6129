import CodingTestSupport
import Foundation
import Testing
import WebImage
import WebImageCore
import WebImageShared
import WebImageTestSupport

@testable import WebImageService

/// `POST /upload`.
@Suite(.timeLimit(.minutes(1)))
struct UploadAnswerTests {
    private func service(
        _ directory: TemporaryDirectory, options: String = "rs:fit:100:100",
        _ change: (inout ImageService.Configuration) -> Void = { _ in }
    ) throws -> ImageService {
        var configuration = ServiceFixture.configuration
        configuration.folder = URL(filePath: directory.path("images"), directoryHint: .isDirectory)
        configuration.uploads = ImageService.Uploads(to: "local:///uploads", options: options)
        change(&configuration)
        return try ImageService(configuration)
    }

    private func post(
        _ body: Data, to service: ImageService, _ target: String = "/upload", _ headers: [String: String] = [:],
        pieceCount: Int = 700
    ) async -> ServiceAnswer {
        let (stream, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
        for start in stride(from: 0, to: body.count, by: pieceCount) {
            continuation.yield(body.dropFirst(start).prefix(pieceCount))
        }
        continuation.finish()
        let fields = headers.map { HTTPHeader(name: $0.key, value: $0.value) }
        return await service.answer(
            toUpload: ServiceRequest(method: "POST", target: target, headers: fields), body: stream)
    }

    private struct Answer: Decodable {
        let url, source, mimeType: String
        let width, height, byteCount, frameCount: Int
        let blurHash, thumbHash, perceptualHash: String
    }

    private func stored(_ answer: ServiceAnswer) throws -> Answer {
        try #require(answer.status == 201, "\(answer.text)")
        let stored = try JSONDecoder().decode(Answer.self, from: answer.bytes)
        #expect(answer.header("Location") == stored.url && answer.header("Cache-Control") == "no-store")
        return stored
    }

    private func get(_ url: String, from service: ImageService) async -> ServiceAnswer {
        await service.answer(to: ServiceRequest(target: url))
    }

    private func files(_ directory: TemporaryDirectory) -> [String] {
        let found = FileManager.default.enumerator(atPath: directory.path("images/uploads"))
        return (found?.allObjects as? [String] ?? []).filter { $0.contains(".") }
    }

    private var jpeg: Data {
        get throws {
            let large = try CodecRegistry.shared.encode(ServiceFixture.picture(width: 200, height: 100), as: .jpeg)
            let small = try CodecRegistry.shared.encode(ServiceFixture.picture(width: 40, height: 20), as: .jpeg)
            return PhotographFile.file(large, orientation: 6, thumbnail: small)
        }
    }

    private func form(_ file: Data, type: String? = "image/jpeg", before: String = "", after: String = "") -> Data {
        let head =
            "Content-Disposition: form-data; name=\"file\"; filename=\"a; b.jpg\"\r\n"
            + (type.map { "Content-Type: \($0)\r\n" } ?? "")
        return Data("\(before)--x y\r\n\(head)\r\n".utf8) + file + Data("\r\n--x y--\r\n\(after)".utf8)
    }

    private static let formType = ["content-type": "multipart/form-data; boundary=\"x y\""]

    @Test func anUploadIsStoredAndServed() async throws {
        let directory = try TemporaryDirectory()
        let service = try service(directory)
        let stored = try stored(await post(jpeg, to: service, "/upload", ["Content-Type": "image/jpeg"]))
        #expect(stored.width == 50 && stored.height == 100 && stored.frameCount == 1)
        #expect(stored.mimeType == "image/jpeg" && stored.blurHash.count > 6 && stored.perceptualHash.count == 16)
        #expect(stored.url == "/unsafe/raw:1/plain/\(stored.source)" && stored.source.hasPrefix("local:///uploads/"))
        let served = await get(stored.url, from: service)
        #expect(served.status == 200 && served.bytes.count == stored.byteCount)
        let name = try #require(files(directory).first)
        #expect(
            stored.source == "local:///uploads/\(name)" && name.contains(SHA256.hexDigest(of: [UInt8](served.bytes))))
        #expect(try Data(contentsOf: directory.url("images/uploads/" + name)) == served.bytes)
        #expect(try CodecRegistry.shared.metadata(of: served.bytes).exif == nil)
        // The same file again is the same source.
        #expect(try self.stored(await post(jpeg, to: service)).url == stored.url && files(directory).count == 1)
        #expect(service.counters.uploads == 2)
    }

    @Test func anUploadIsStoredAsItCameIfThatIsConfigured() async throws {
        let directory = try TemporaryDirectory()
        let service = try service(directory, options: "raw:1") { $0.uploads?.urlOptions = "w:10/f:png" }
        let stored = try stored(await post(jpeg, to: service))
        #expect(try Data(contentsOf: directory.url("images/uploads/" + files(directory)[0])) == jpeg)
        #expect(stored.width == 100 && stored.height == 200)
        let served = await get(stored.url, from: service)
        #expect(try served.size == [10, 20] && served.header("Content-Type") == "image/png")
    }

    @Test(arguments: [1, 7, 64, 100_000]) func aFormHasOneFile(pieceCount: Int) async throws {
        let directory = try TemporaryDirectory()
        let service = try service(directory)
        let field = "--x y\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\n--x z\r\n\r\n"
        for (type, before) in [("image/jpeg", ""), ("application/octet-stream", field), (nil, field)] {
            let body = try form(jpeg, type: type, before: before)
            _ = try stored(await post(body, to: service, "/upload", Self.formType, pieceCount: pieceCount))
        }
        #expect(files(directory).count == 1)
    }

    @Test func otherFormsAreRefused() async throws {
        let directory = try TemporaryDirectory()
        let service = try service(directory)
        let (file, field) = (try jpeg, "--x y\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\n")
        let end = Data("\r\n--x y--\r\n".utf8)
        let bodies: [(Data, Int)] = [
            (form(file, type: "image/png"), 415), (form(file, type: "text/html"), 415),
            (form(Data("<html>".utf8)), 415), (form(Data()), 415),
            (form(file, before: "text\r\n"), 400), (form(file, after: "PK"), 400),
            (form(file).dropLast(end.count) + Data("\r\n".utf8) + form(file), 400),
            (Data(field.utf8) + end, 400), (Data("--x y--\r\n".utf8), 400), (Data("--x yz\r\n\r\n".utf8), 400),
            (Data("--x y\r\n\r\n".utf8) + file + end, 400), (form(file).dropLast(4), 400), (Data(), 400),
            (form(file, before: field + String(repeating: "x", count: 70_000) + "\r\n"), 400),
            (Data("--x y\r\nX: \(String(repeating: "y", count: 9000))".utf8), 400),
            (form(Data("--x y".utf8)), 415),
        ]
        for (index, (body, status)) in bodies.enumerated() {
            let answer = await post(body, to: service, "/upload", Self.formType)
            #expect(answer.status == status, "\(index): \(answer.text)")
        }
        for type in ["multipart/form-data", "multipart/form-data; boundary=", "multipart/mixed; boundary=a"] {
            let status = await post(form(file), to: service, "/upload", ["Content-Type": type]).status
            #expect(status == 400 || status == 415, "\(type)")
        }
        #expect(files(directory).isEmpty)
    }

    @Test func onlySignedUploadsAreTaken() async throws {
        let directory = try TemporaryDirectory()
        let key = try #require(SigningKey(hexKey: "aa", hexSalt: "bb"))
        let service = try service(directory) {
            $0.keys = [key]
            $0.pathPrefix = "/i"
        }
        let file = try jpeg
        func status(_ target: String) async -> Int { await post(file, to: service, target).status }
        func signed(_ rest: String) -> String { "/i/upload/" + key.signature(of: "/upload" + rest) + rest }
        for target in [
            "/i/upload", "/i/upload/", "/i/upload/unsafe", "/i/upload/" + key.signature(of: "/"),
            "/i/upload/" + key.signature(of: "/plain/a"), signed("") + "/exp:9999999999",
            signed("/exp:9999999999").replacing("9999999999", with: "9999999998"),
            "/i/upload/" + key.signature(of: "/info"),
        ] { #expect(await status(target) == 403, "\(target)") }
        #expect(await status(signed("/exp:1")) == 404)
        #expect(await status(signed("/msfs:1000")) == 413)
        for option in ["/w:10", "/exp:x"] { #expect(await status(signed(option)) == 400) }
        #expect(await status("/upload") == 404)
        #expect(files(directory).isEmpty)
        // The signature of an upload is not one of an image.
        #expect(await get("/i/" + key.signature(of: "/upload") + "/upload", from: service).status == 400)

        let stored = try stored(await post(file, to: service, signed("/expires:9999999999/msfs:1000000")))
        #expect(
            stored.url == "/i/" + key.signature(of: "/raw:1/plain/\(stored.source)") + "/raw:1/plain/\(stored.source)")
        #expect(await get(stored.url, from: service).status == 200)
        #expect(try self.stored(await post(file, to: service, signed(""))).url == stored.url)
    }

    /// What the head shows is refused without the body.
    @Test func someUploadsAreRefusedBeforeTheirBody() throws {
        let directory = try TemporaryDirectory()
        let service = try service(directory) { $0.uploads?.policy.byteLimit = 5000 }
        func status(_ headers: [String: String], _ target: String = "/upload") -> Int? {
            let fields = headers.map { HTTPHeader(name: $0.key, value: $0.value) }
            return service.refusal(
                ofUpload: ServiceRequest(method: "POST", target: target, headers: fields))?.status
        }
        #expect(status([:]) == nil && status(["Content-Type": "image/jpeg; x=y", "Content-Length": "5000"]) == nil)
        #expect(status(["Content-Length": "5001"]) == 413)
        #expect(status(["Content-Type": "multipart/form-data; boundary=x", "Content-Length": "5001"]) == nil)
        #expect(status(["Content-Type": "multipart/form-data; boundary=x", "Content-Length": "90000"]) == 413)
        #expect(status(["Content-Type": "application/x-www-form-urlencoded"]) == 415)
        #expect(status(["Content-Encoding": "gzip"]) == 415 && status(["Content-Encoding": "identity"]) == nil)
        #expect(status([:], "/uploads") == 404 && status([:], "/upload/_/nope:1") == 400)
        #expect(status([:], "/upload/_/max_src_file_size%3A100/exp%3A9999999999") == nil)
    }

    @Test func bytesBehindAnImageAreRefusedOrLeftOut() async throws {
        let directory = try TemporaryDirectory()
        let file = try jpeg + Data("PK\u{5}\u{6}".utf8)
        let raw = try self.service(directory, options: "raw:1")
        let refused = await post(file, to: raw)
        #expect(refused.status == 422 && refused.text == "There are 4 bytes behind the image of the upload.\n")
        let service = try self.service(directory) { $0.uploads?.policy.allowsTrailingBytes = true }
        _ = try stored(await post(file, to: service))
        let name = try #require(files(directory).first)
        let bytes = try Data(contentsOf: directory.url("images/uploads/" + name))
        #expect(bytes.firstRange(of: Data("PK\u{5}\u{6}".utf8)) == nil)
    }

    @Test func aServiceWithoutUploadsTakesNone() async throws {
        let service = try ImageService(ServiceFixture.configuration)
        #expect(!service.isUpload(ServiceRequest(method: "POST", target: "/upload")))
        let file = try jpeg
        #expect(await post(file, to: service).status == 404)
        let directory = try TemporaryDirectory()
        let other = try self.service(directory)
        #expect(other.isUpload(ServiceRequest(method: "POST", target: "/upload?x")))
        #expect(other.isUpload(ServiceRequest(method: "POST", target: "/upload/a/b")))
        #expect(!other.isUpload(ServiceRequest(method: "GET", target: "/upload")))
        #expect(!other.isUpload(ServiceRequest(method: "POST", target: "/uploader")))
    }

    /// Uploads would be stored and never be seen.
    @Test func uploadsThatCouldNotBeServedAreAnErrorAtTheStart() throws {
        let directory = try TemporaryDirectory()
        func message(_ change: (inout ImageService.Configuration) -> Void) -> String? {
            do {
                _ = try service(directory, change)
                return nil
            } catch WebImageError.custom("service-uploads", let message) {
                return message
            } catch {
                return "\(error)"
            }
        }
        for place in [
            "", "uploads", "/uploads", "file:///a", "local://a/b", "local:///../a", "local:///a b", "s3://bucket/a",
        ] {
            #expect(message { $0.uploads?.destination = place }?.hasPrefix("uploads are stored in") == true, "\(place)")
        }
        #expect(message { $0.folder = nil } != nil)
        #expect(message { $0.uploads?.policy.results = [:] }?.hasPrefix("one result") == true)
        #expect(message { $0.uploads?.policy.results = ["a": "w:x"] }?.contains("cannot be 'x'") == true)
        #expect(message { $0.allowedSources = ["https://a.example/"] }?.hasPrefix("the URLs") == true)
        #expect(message { $0.allowedSources = ["local:///uploads/"] } == nil)
        #expect(
            message { $0.baseURL = "https://a.example/" } != nil && message { $0.uploads?.urlOptions = "w:x" } != nil)
        #expect(message { $0.allowsOnlyPresets = true } != nil)
        #expect(
            message {
                $0.allowsOnlyPresets = true
                $0.presets = ["small": "w:10"]
                $0.uploads?.urlOptions = "small"
            } == nil)
        #expect(
            message {
                $0.argumentSeparator = "--"
                $0.uploads?.policy.results = ["a": "w--10"]
            } == nil)
    }

    @Test func aBucketStoresUploads() async throws {
        let (directory, origin) = (try TemporaryDirectory(), try OriginServer())
        let location = try S3Location("s3://any?endpoint=http://127.0.0.1:\(origin.port)&region=r&style=path")
        let service = try service(directory) {
            $0.store = location
            $0.storeCredential = nil
            $0.uploads?.destination = "s3://bucket/a/uploads/"
        }
        let stored = try stored(await post(jpeg, to: service))
        let put = try #require(await origin.requests().last { $0.method == "PUT" })
        let digest = try #require(put.headers["x-amz-content-sha256"])
        #expect(put.path == "/bucket/a/uploads/\(digest.prefix(2))/\(digest).jpg" && stored.source == "s3:/" + put.path)
        try await origin.answer("PUT " + put.path, status: 403)
        let file = try jpeg
        let refused = await post(file, to: service)
        #expect(refused.status == 500 && refused.reason?.contains("403") == true && !refused.text.contains("403"))
    }

    @Test func aFolderThatCannotBeWrittenIsAnError() async throws {
        let directory = try TemporaryDirectory()
        try directory.write(Data(), to: "images/uploads")
        let (service, file) = (try service(directory), try jpeg)
        let answer = await post(file, to: service)
        #expect(answer.status == 500 && answer.reason != nil)
    }
}
