internal import FoundationEssentials
internal import SystemText
internal import WebImageCore
internal import WebImageLoading
internal import WebImageShared

/// Loads `s3:` sources: `s3://bucket/photos/a.jpg` is the object `photos/a.jpg` of the bucket, in the store of a location. A query, as in
/// `s3://bucket/photos/a.jpg?3HL4kqtJ`, is the ID of a version.
final class S3SourceLoader: ImageLoader {
    private let location: S3Location
    private let credential: S3Credential?
    private let byteLimit: Int
    /// By bucket; each has a thread and connections.
    private let clients = Lock<[String: S3Client]>([:])
    private static let clientLimit = 16

    init(_ location: S3Location, credential: S3Credential?, byteLimit: Int) {
        (self.location, self.credential, self.byteLimit) = (location, credential, byteLimit)
    }

    func canLoad(_ url: URL) -> Bool { url.scheme?.lowercased() == "s3" }
    func isCacheable(_ url: URL) -> Bool { true }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        TaskStep {
            do throws(WebImageError) {
                let response = try await self.response(to: request)
                handler(
                    .response(
                        LoaderResponse(
                            url: request.url, statusCode: response.statusCode, headers: response.head.fields,
                            expectedByteCount: Int64(response.body.count))))
                if !response.body.isEmpty { handler(.bytes(response.body)) }
                handler(.finished(.success(())))
            } catch {
                handler(.finished(.failure(error)))
            }
        }
    }

    private func response(to request: LoaderRequest) async throws(WebImageError) -> S3Client.Response {
        let url = request.url
        // As signatures require.
        let key = url.path(percentEncoded: false).dropFirst().utf8.percentEncoded(keeping: "/")
        guard !key.isEmpty, let bucket = url.host(), let client = client(for: bucket) else {
            throw .invalidURL(url.absoluteString)
        }
        var query: [(name: String, value: String)] = []
        if let version = url.query(percentEncoded: false), !version.isEmpty { query = [("versionId", version)] }
        let conditions = request.headers.filter { HTTPHeader.conditionNames.contains($0.key.lowercased()) }
        do {
            let response = try await client.send(
                .get, key, query: query, headers: conditions.map { HTTPHeader(name: $0.key, value: $0.value) },
                byteLimit: byteLimit)
            guard response.statusCode == 200 || response.statusCode == 304 else {
                throw WebImageError.httpStatus(code: response.statusCode, url: url)
            }
            return response
        } catch let failure as S3Client.Failure {
            switch failure {
            case .cancelled: throw .cancelled
            case .tooLong:
                throw .invalidResponse(
                    reason: .bodyTooLong(byteCount: Int64(byteLimit) + 1, limit: Int64(byteLimit)), url: url)
            case .tooSlow: throw .timedOut(after: .seconds(10), url: url)
            case .unreachable, .refused, .paused: throw .transport(code: 7, message: failure.description, url: url)
            }
        } catch let error as WebImageError {
            throw error
        } catch {
            throw .transport(code: 0, message: "\(error)", url: url)
        }
    }

    /// Returns the client of a bucket; `nil` for a name that none can have.
    private func client(for bucket: String) -> S3Client? {
        if let client = clients.withLock({ $0[bucket] }) { return client }
        guard let client = Self.client(for: bucket, in: location, credential: credential) else { return nil }
        return clients.withLock { clients in
            if let other = clients[bucket] { return other }
            // Requests in flight keep their clients.
            if clients.count >= Self.clientLimit { clients.removeAll() }
            clients[bucket] = client
            return client
        }
    }

    /// Returns a new client of a bucket in the store of a location; `nil` for a name that none can have.
    static func client(for bucket: String, in store: S3Location, credential: S3Credential?) -> S3Client? {
        guard var place = try? S3Location("s3://\(bucket)") else { return nil }
        (place.endpoint, place.region, place.style) = (store.endpoint, store.region, store.style)
        var configuration = SharedImageCache.Configuration(location: place, credential: credential)
        configuration.budget.connect = .seconds(5)
        configuration.budget.firstByte = .seconds(10)
        configuration.budget.bytesPerSecond = 64 << 10
        return S3Client(configuration)
    }
}
