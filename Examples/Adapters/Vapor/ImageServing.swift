// Images for Vapor 4. Copy this file into your program, which needs the products WebImage and WebImageService.

import Foundation
import Vapor
import WebImage
import WebImageService

/// Answers requests for images that URLs describe; passes all others on.
///
/// ```swift
/// var configuration = ImageService.Configuration()
/// configuration.pathPrefix = "/images"
/// app.middleware.use(ImageServiceMiddleware(try ImageService(configuration)))
/// ```
struct ImageServiceMiddleware: AsyncMiddleware {
    /// What makes the images. Requests are for it if their path begins with the `pathPrefix` of its configuration.
    let service: ImageService

    init(_ service: ImageService) { self.service = service }

    func respond(to request: Request, chainingTo next: any AsyncResponder) async throws -> Response {
        let prefix = service.configuration.pathPrefix
        guard prefix.isEmpty || request.url.path.hasPrefix("\(prefix)/") else {
            return try await next.respond(to: request)
        }
        let headers = request.headers.map { HTTPHeader(name: $0.name, value: $0.value) }
        let answer = await service.answer(
            to: ServiceRequest(method: request.method.rawValue, target: request.url.string, headers: headers))
        if let reason = answer.reason {
            request.logger.debug(
                "Image not served", metadata: ["image.status": "\(answer.status)", "image.reason": "\(reason)"])
        }
        return Response(answer)
    }
}

extension Response {
    /// Creates a response with an answer of the service. A long result is read from disk as the client takes it.
    convenience init(_ answer: ServiceAnswer) {
        let content = answer.body
        let body =
            content.data.map { Body(data: $0) }
            ?? Body(
                managedAsyncStream: { writer in
                    for try await piece in content { try await writer.writeBuffer(ByteBuffer(bytes: piece)) }
                }, count: content.count)
        // The answer has the length, also of a body that HEAD leaves out, which another initializer would replace.
        self.init(
            status: HTTPResponseStatus(statusCode: answer.status), version: HTTPVersion(major: 1, minor: 1),
            headersNoUpdate: HTTPHeaders(answer.headers.map { ($0.name, $0.value) }), body: body)
    }
}

extension Request {
    /// Decodes the image in the body, outside of the event loop.
    ///
    /// - Parameters:
    ///   - manager: its configuration has the limits, and says what is decoded in a process of its own: `.server`.
    ///   - thumbnail: the size to decode; `nil`, the default, decodes all pixels.
    ///   - byteLimit: the longest body; 20 MiB by default.
    /// - Throws: `WebImageError`, or `Abort` with 413 for a longer body.
    func image(
        with manager: WebImageManager, thumbnail: Thumbnail? = nil, upTo byteLimit: Int = 20 << 20
    ) async throws -> WebImage.Image {
        let data = try await bytes(upTo: byteLimit)
        var request = WebImageRequest(id: UUID().uuidString, thumbnail: thumbnail, isCacheable: false) { data }
        request.cacheAccess = .none
        return try await manager.image(for: request)
    }

    /// Takes an upload: the body itself, or the first file of a form (`multipart/form-data`).
    ///
    /// The route needs `body: .stream`, so that an upload is read no further than needed to refuse it. A form is read as a
    /// whole first, within the policy's limit.
    ///
    /// - Parameters:
    ///   - service: checks the upload, and makes its files.
    ///   - policy: what is accepted, and the files to make.
    /// - Throws: `UploadRejection`, or `Abort`: 413 for a longer form, 400 for one without a file.
    func upload(to service: ImageService, _ policy: UploadPolicy = UploadPolicy()) async throws -> Upload {
        var policy = policy
        let type = headers.first(name: "Content-Type")
        guard let type, type.lowercased().hasPrefix("multipart/form-data") else {
            policy.claimedType = type
            return try await service.take(body.map { Data($0.readableBytesView) }, policy)
        }
        // A form has more than its file: boundaries, and other fields.
        let form = try await bytes(upTo: policy.byteLimit + 64 << 10)
        guard let file = FormFile(form, contentType: type) else {
            throw Abort(.badRequest, reason: "The form has no file.")
        }
        policy.claimedType = file.type
        return try await service.take(file.pieces, policy)
    }

    /// Takes an upload, and stores its files in the folder of the service, which must exist.
    ///
    /// - Returns: the paths of the images that the service makes of the files, signed with its first key, by the names in
    ///   the policy's `results`. Anyone who knows a path can see the image.
    /// - Throws: the errors of `upload(to:_:)`, and those of writing files.
    func storeUpload(
        in service: ImageService, _ policy: UploadPolicy = UploadPolicy()
    ) async throws -> [String: String] {
        guard let folder = service.configuration.folder else {
            throw Abort(.notImplemented, reason: "The service has no folder.")
        }
        var paths: [String: String] = [:]
        for (result, file) in try await upload(to: service, policy).files {
            let name = "\(UUID().uuidString).\(file.fileExtension)"
            try await fileio.writeFile(ByteBuffer(bytes: file.data), at: folder.appending(path: name).path)
            paths[result] = service.configuration.signedPath("/plain/local:///\(name)")
        }
        return paths
    }

    private func bytes(upTo limit: Int) async throws -> Data {
        var data = Data()
        for try await piece in body {
            guard data.count + piece.readableBytes <= limit else { throw Abort(.payloadTooLarge) }
            data.append(contentsOf: piece.readableBytesView)
        }
        return data
    }
}

extension ImageService.Configuration {
    /// Returns the whole path of options and a source, signed if there is a key.
    fileprivate func signedPath(_ path: String) -> String {
        let signature = keys.first?.signature(of: path, byteCount: signatureByteCount) ?? "unsafe"
        return "\(pathPrefix)/\(signature)\(path)"
    }
}

/// The first file of a form (RFC 7578).
private struct FormFile {
    let data: Data
    /// The media type that the client has stated; `nil` without one.
    let type: String?

    /// - Returns: `nil` if the body is no form, or has no file.
    init?(_ body: Data, contentType: String) {
        guard let parameter = contentType.range(of: "boundary=") else { return nil }
        let boundary = contentType[parameter.upperBound...].prefix { $0 != ";" }.filter { $0 != "\"" }
        let (lineBreak, delimiter) = (Data("\r\n".utf8), Data("--\(boundary)".utf8))
        var rest = body
        while let start = rest.range(of: delimiter),
            let head = rest.range(of: lineBreak + lineBreak, in: start.upperBound..<rest.endIndex),
            let end = rest.range(of: lineBreak + delimiter, in: head.upperBound..<rest.endIndex)
        {
            let fields = String(decoding: rest[start.upperBound..<head.lowerBound], as: UTF8.self)
                .split(separator: "\r\n").map { $0.lowercased() }
            if fields.contains(where: { $0.contains("filename=") }) {
                data = Data(rest[head.upperBound..<end.lowerBound])
                type = fields.first { $0.hasPrefix("content-type:") }?.dropFirst(13).trimmingCharacters(
                    in: .whitespaces)
                return
            }
            rest = Data(rest[end.lowerBound...])
        }
        return nil
    }

    /// The bytes in one piece.
    var pieces: AsyncThrowingStream<Data, any Error> {
        AsyncThrowingStream { continuation in
            continuation.yield(data)
            continuation.finish()
        }
    }
}

extension WebImageError: @retroactive AbortError {
    /// The status for clients that have sent a URL or an image.
    public var status: HTTPResponseStatus {
        switch self {
        case .invalidURL, .invalidRequest: .badRequest
        case .blocked(reason: .failedBefore, url: _): .badGateway
        case .blocked: .forbidden
        case .httpStatus(let code, _): code == 404 || code == 410 ? .notFound : .badGateway
        case .unrecognizedFormat, .decoding: .unsupportedMediaType
        case .limitExceeded, .invalidResponse(reason: .bodyTooLong, url: _): .payloadTooLarge
        case .timedOut: .gatewayTimeout
        case .transport, .certificate, .invalidResponse: .badGateway
        case .isolation(_, reason: .unavailable, url: _), .isolation(_, reason: .missingLayers, url: _):
            .internalServerError
        case .isolation(_, reason: .startTimedOut, url: _), .outOfResources: .serviceUnavailable
        case .isolation: .unprocessableEntity
        default: .internalServerError
        }
    }

    /// A sentence, which contains the URL without passwords.
    public var reason: String { description }
}

extension UploadRejection: @retroactive AbortError {
    /// The status that says what is wrong with the upload.
    public var status: HTTPResponseStatus {
        switch self {
        case .tooLong: .payloadTooLarge
        case .notAccepted, .otherType: .unsupportedMediaType
        case .refused(let status, _): HTTPResponseStatus(statusCode: status)
        case .trailingBytes: .unprocessableEntity
        case .interrupted: .badRequest
        }
    }

    /// What is wrong, for the client.
    public var reason: String {
        switch self {
        case .tooLong(let limit): "The file has more than \(limit) bytes."
        case .notAccepted(let format): format.map { "\($0.name) is not accepted." } ?? "The file is not an image."
        case .otherType(let claimed, let actual): "The file is \(actual), not \(claimed)."
        case .refused(_, let reason): reason
        case .trailingBytes(let count): "There are \(count) bytes behind the image."
        case .interrupted: "The upload is incomplete."
        }
    }
}
