import Foundation
import WebImage
import WebImageService

/// Answers one request, which a web server describes as a CGI program's (RFC 3875).
@main
enum Program {
    static func main() async {
        do {
            try await answer()
        } catch {
            // The CGI server logs it.
            try? FileHandle.standardError.write(contentsOf: Data("ImageGateway: \(error)\n".utf8))
            exit(1)
        }
    }

    static func answer() async throws {
        let environment = ProcessInfo.processInfo.environment
        var configuration = ImageService.Configuration()
        configuration.folder = environment["IMAGE_FOLDER"].map { URL(filePath: $0, directoryHint: .isDirectory) }
        configuration.disk = DiskCache()
        let service = try ImageService(configuration)

        let fields = environment.compactMap { name, value -> HTTPHeader? in
            guard name.hasPrefix("HTTP_") else { return nil }
            return HTTPHeader(name: String(name.dropFirst(5)).replacing("_", with: "-"), value: value)
        }
        let answer = await service.answer(
            to: ServiceRequest(
                method: environment["REQUEST_METHOD"] ?? "GET", target: environment["REQUEST_URI"] ?? "/",
                headers: fields))
        await service.stop()

        var head = "Status: \(answer.status)\r\n"
        for field in answer.headers { head += "\(field.name): \(field.value)\r\n" }
        let output = FileHandle.standardOutput
        try output.write(contentsOf: Data((head + "\r\n").utf8))
        for try await piece in answer.body { try output.write(contentsOf: piece) }
    }
}
