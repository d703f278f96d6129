import FoundationEssentials
import Testing
import WebImageCore

@testable import WebImageLoading

/// Judgements that hardly any server provokes.
@Suite struct DownloadStateTests {
    private static func state(
        _ length: Int, coding: String?, method: LoaderRequest.Method = .get
    ) throws -> DownloadState {
        var request = LoaderRequest(
            url: try #require(URL(string: "http://h/a")), headers: ["Accept-Encoding": "gzip"])
        request.method = method
        var state = try DownloadState(request, configuration: ImageDownloader.Configuration())
        var fields = [HTTPField(name: "Content-Length", value: "\(length)")]
        if let coding { fields.append(HTTPField(name: "Content-Encoding", value: coding)) }
        #expect(state.receive(TransferHead(statusCode: 200, fields: fields)).disposition == .proceed)
        return state
    }

    private static func error(_ conclusion: DownloadState.Conclusion) -> WebImageError? {
        guard case .finished(.failure(let error)) = conclusion else { return nil }
        return error
    }

    @Test func checksTheLengthOfACodedBodyOnTheWire() throws {
        var state = try Self.state(100, coding: "gzip")
        #expect(state.receive(Data(count: 5000)) == (true, .proceed))
        #expect(Self.error(state.conclude(.complete, wireByteCount: 100)) == nil)
        let error = Self.error(state.conclude(.complete, wireByteCount: 99))
        #expect(error == .truncated(expected: 100, received: 99, url: state.hop.url))
    }

    @Test func checksTheLengthOfAnyOtherBodyByWhatArrived() throws {
        var state = try Self.state(100, coding: nil)
        #expect(state.receive(Data(count: 99)) == (true, .proceed))
        let error = Self.error(state.conclude(.complete, wireByteCount: 100))
        #expect(error == .truncated(expected: 100, received: 99, url: state.hop.url))
    }

    @Test func aCodedBodyOfNothingIsEmpty() throws {
        var state = try Self.state(20, coding: "gzip")
        #expect(Self.error(state.conclude(.complete, wireByteCount: 20)) == .emptyBody(url: state.hop.url))
    }

    @Test func aHeadNeedsNoBody() throws {
        var state = try Self.state(100, coding: nil, method: .head)
        #expect(Self.error(state.conclude(.complete, wireByteCount: 0)) == nil)
    }
}
