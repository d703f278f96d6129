// Conversions between the types of swift-http-types and those of the library. Copy this file into your program, which needs
// the product WebImage, or WebImageService for requests and answers of an image service.

import Foundation
import HTTPTypes
import WebImage
import WebImageService

extension HTTPFields {
    /// Creates fields in the same order, without those whose name is invalid.
    init(_ headers: [HTTPHeader]) {
        self.init()
        for header in headers {
            if let name = HTTPField.Name(header.name) { append(HTTPField(name: name, value: header.value)) }
        }
    }
}

extension [HTTPHeader] {
    /// Creates headers in the same order.
    init(_ fields: HTTPFields) { self = fields.map { HTTPHeader(name: $0.name.rawName, value: $0.value) } }
}

extension ServiceRequest {
    /// Creates a request for an image service. `*` and requests without a path become `/`.
    init(_ request: HTTPRequest, deadline: ContinuousClock.Instant? = nil) {
        self.init(
            method: request.method.rawValue, target: request.path ?? "/", headers: [HTTPHeader](request.headerFields),
            deadline: deadline)
    }
}

extension HTTPResponse {
    /// Creates the head of an answer, whose body is `answer.body`.
    init(_ answer: ServiceAnswer) {
        self.init(status: Status(code: answer.status), headerFields: HTTPFields(answer.headers))
    }

    /// Creates the head of a loader's response; `nil` for a loader without statuses, such as one of files.
    init?(_ response: LoaderResponse) {
        guard let code = response.statusCode else { return nil }
        self.init(status: Status(code: code), headerFields: HTTPFields(response.headers))
    }
}

extension LoaderResponse {
    /// Creates a response, for a custom loader.
    ///
    /// - Parameter url: the final URL, after redirects.
    init(_ response: HTTPResponse, url: URL) {
        let isCoded = response.headerFields[.contentEncoding] != nil
        self.init(
            url: url, statusCode: response.status.code, headers: [HTTPHeader](response.headerFields),
            expectedByteCount: isCoded ? nil : response.headerFields[.contentLength].flatMap { Int64($0) })
    }
}

extension LoaderRequest {
    /// Creates a request to a loader; `nil` if the request has no URL, or a method that loaders do not send.
    ///
    /// Fields with the same name are joined as one list.
    init?(_ request: HTTPRequest) {
        guard let scheme = request.scheme, let authority = request.authority,
            let url = URL(string: "\(scheme)://\(authority)\(request.path ?? "/")"),
            let method = Method(request.method.rawValue)
        else { return nil }
        self.init(url: url)
        self.method = method
        for name in Set(request.headerFields.map(\.name)) { headers[name.rawName] = request.headerFields[name] }
    }
}

extension HTTPRequest {
    /// Creates the request that a loader sends; `nil` if its method or one of its fields is invalid.
    ///
    /// It has neither the body of the loader's request nor its credential.
    init?(_ request: LoaderRequest) {
        guard let method = Method(request.method.name),
            let address = URLComponents(url: request.url, resolvingAgainstBaseURL: true)
        else { return nil }
        let path = address.percentEncodedPath.isEmpty ? "/" : address.percentEncodedPath
        let query = address.percentEncodedQuery.map { "?\($0)" } ?? ""
        let authority = address.encodedHost.map { host in address.port.map { "\(host):\($0)" } ?? host }
        self.init(method: method, scheme: address.scheme, authority: authority, path: path + query)
        for (name, value) in request.headers.sorted(by: { $0.key < $1.key }) {
            guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else { return nil }
            headerFields.append(HTTPField(name: name, value: value))
        }
    }
}
