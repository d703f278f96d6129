import Foundation
import HTTPTypes
import WebImage
import WebImageService

/// Sends a request for a URL with a loader, and one to an image service, and prints the heads of both answers.
@main
enum Program {
    static func main() async throws {
        let address = URLComponents(string: CommandLine.arguments[1])
        var request = HTTPRequest(
            method: .get, scheme: address?.scheme, authority: address?.host.map { "\($0):\(address?.port ?? 80)" },
            path: address?.path)
        request.headerFields.append(HTTPField(name: .accept, value: "image/png"))
        request.headerFields.append(HTTPField(name: .accept, value: "image/webp"))
        if let sent = LoaderRequest(request) {
            let answer = try await ImageDownloader.shared.bytes(for: sent)
            let again = HTTPRequest(sent)
            print(again?.authority == request.authority, again?.path == request.path, sent.headers["Accept"] ?? "")
            show(HTTPResponse(answer.response))
            if let head = HTTPResponse(answer.response) {
                print(LoaderResponse(head, url: sent.url).expectedByteCount == answer.response.expectedByteCount)
            }
        }
        let service = try ImageService()
        let path = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/_/w:x/plain/https://a/b")
        show(HTTPResponse(await service.answer(to: ServiceRequest(path))))
    }

    private static func show(_ head: HTTPResponse?) {
        print(head?.status.code ?? 0, head?.headerFields[.contentType] ?? "")
    }
}
