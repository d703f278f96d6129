import FoundationEssentials
import Testing
import WebImageCore
import WebImageLoading
import WebImageTestSupport

@Suite(.timeLimit(.minutes(3))) struct DataURLLoaderTests {
    private let loader = DataURLLoader()

    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    @Test(
        arguments: [
            ("data:,plain", "text/plain;charset=US-ASCII", "plain"),
            ("DATA:text/plain,UPPER", "text/plain", "UPPER"),
            ("data:text/plain;charset=utf-8,%C3%A4%2c%20b", "text/plain;charset=utf-8", "ä, b"),
            ("data:;charset=utf-8,x", "text/plain;charset=utf-8", "x"),
            ("data:text/plain,a,b?c=d", "text/plain", "a,b?c=d"),
            ("data:text/plain,before#after", "text/plain", "before"),
            ("data:image/png;base64,aGVsbG8=", "image/png", "hello"),
            ("data:image/png;base64,aGVsbG8", "image/png", "hello"),
            ("data:image/png;base64,aGVs%0D%0AbG8%3D", "image/png", "hello"),
            ("data:image/png;base64,aGVs bG8=\n", "image/png", "hello"),
            ("data: image/png ; BASE64 ,aGVsbG8=", "image/png", "hello"),
            ("data:;base64,aGVsbG8=", "text/plain;charset=US-ASCII", "hello"),
            ("data:image/png;base64;x=y,aGVsbG8=", "image/png;x=y", "aGVsbG8="),
            ("data:base64,aGVsbG8=", "text/plain;charset=US-ASCII", "aGVsbG8="),
            ("data:image/png;base64,%61GVsbG8=", "image/png", "hello"),
            ("data:image/png;base64,aGVsbG8%3", nil, nil),
            ("data:image/png;base64,aGVsbG8==", nil, nil),
            ("data:image/png;base64,a", nil, nil),
            ("data:image/png;base64,aGV=sbG8=", nil, nil),
            ("data:image/png;base64,aGVs-_8=", nil, nil),
            ("data:image/png;base64", nil, nil),
            ("data:image/png", nil, nil),
        ] as [(String, String?, String?)])
    func loadsTheContentOfAURL(text: String, mediaType: String?, body: String?) async throws {
        let recording = loader.record(try url(text)).recording
        guard let mediaType, let body else {
            let error = try #require(try await recording.error())
            guard case .invalidURL(_, _?) = error else { throw error }
            #expect(recording.isInOrder)
            #expect(recording.response == nil)
            return
        }
        #expect(try await recording.body() == Data(body.utf8))
        #expect(recording.response?.headerValue("Content-Type") == mediaType)
        #expect(recording.response?.expectedByteCount == Int64(body.utf8.count))
        #expect(recording.isInOrder)
    }

    @Test func deliversEveryByteOfAnImage() async throws {
        let data = FaultServer.pattern(100_000)
        #expect(try await loader.body(try url("data:image/jpeg;base64," + data.base64EncodedString())) == data)
        let escaped = data.prefix(1000).map { byte in "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16) }
        #expect(try await loader.body(try url("data:image/jpeg," + escaped.joined())) == data.prefix(1000))
    }

    @Test func answersHeadRequestsAndRefusesMethodsThatChangeData() async throws {
        var request = LoaderRequest(url: try url("data:image/png,abc"))
        request.method = .head
        let recording = loader.record(request).recording
        #expect(try await recording.body().isEmpty && recording.response?.expectedByteCount == 3)
        request.method = .post
        guard case .invalidRequest(.unsupportedMethod("POST", hasBody: false), _) = try await loader.error(request)
        else {
            Issue.record("posted")
            return
        }
    }

    @Test func reportsAnEmptyDataURL() async throws {
        let url = try url("data:image/png;base64,")
        #expect(try await loader.error(url) == .invalidResponse(reason: .emptyBody, url: url))
    }

    @Test(arguments: ["data:,12345678901", "data:;base64,MTIzNDU2Nzg5MDE="]) func refusesMoreThanItsLimit(
        text: String
    ) async throws {
        let url = try url(text)
        let error = try await DataURLLoader(maximumByteCount: 10).error(url)
        #expect(error == .invalidResponse(reason: .bodyTooLong(byteCount: 11, limit: 10), url: url))
        #expect(try await DataURLLoader(maximumByteCount: 11).body(url) == Data("12345678901".utf8))
    }

    @Test func keepsTheMegabytesOfItsURLOutOfErrors() async throws {
        let url = try url("data:image/png;base64," + String(repeating: "AAAA", count: 100_000))
        let error = try #require(try await DataURLLoader(maximumByteCount: 10).error(url))
        #expect(error.description.utf8.count < 400)
        #expect(error.description.hasPrefix("data:image/png;base64,AAAA"))
    }

    @Test func loadsOnlyDataURLsAndStoresNothingOnDisk() throws {
        let data = try url("data:,x")
        #expect(loader.canLoad(data))
        #expect(!loader.isCacheable(data))
        #expect(!loader.canLoad(try url("http://127.0.0.1/data:,x")))
    }
}
