public import FoundationEssentials
public import WebImageCore
internal import WebImageLoading

extension SharedImageCache {
    /// An object of the store, as tools list it.
    public struct Entry: Sendable {
        /// The object's key, without the location's prefix.
        public let key: String
        /// The URL or cache key of its content; `nil` without names, and for objects of other programs.
        public let name: String?
        /// The size of the object in bytes, which has a header besides the content.
        public let byteCount: Int
        /// When the object was stored.
        public let modified: Date
    }

    /// Calls `body` with each object of the location; lists a thousand in a request.
    ///
    /// ```swift
    /// let shared = SharedImageCache(SharedImageCache.Configuration(location: try S3Location("s3://images/cache")))
    /// try await shared.forEachEntry { entry in print(entry.name ?? entry.key, entry.byteCount) }
    /// ```
    ///
    /// Unlike loads, this and the functions below report the errors of the store.
    ///
    /// - Parameters:
    ///   - withNames: whether to read each object's beginning, which has its name; `true` by default.
    ///   - body: called with one object after the other.
    /// - Throws: ``WebImage/WebImageError/httpStatus(code:url:)``, ``WebImage/WebImageError/transport(code:message:url:)``,
    ///   ``WebImage/WebImageError/timedOut(reason:after:url:)``, ``WebImage/WebImageError/cancelled``.
    public func forEachEntry(
        withNames: Bool = true, _ body: (Entry) async -> Void
    ) async throws(WebImageError) {
        var token: String?
        repeat {
            var query = [("list-type", "2"), ("prefix", configuration.location.objectKey("v1/"))]
            if let token { query.append(("continuation-token", token)) }
            let response = try await send(.get, nil, query: query, byteLimit: 16 << 20)
            let text = Substring(decoding: response.body, as: UTF8.self)
            for part in text.components(between: "<Contents>", and: "</Contents>") {
                guard let full = part.components(between: "<Key>", and: "</Key>").first,
                    let size = part.components(between: "<Size>", and: "</Size>").first.flatMap({ Int($0) }),
                    let time = part.components(between: "<LastModified>", and: "</LastModified>").first,
                    let date = try? Date(String(time.prefix(19)) + "Z", strategy: .iso8601)
                else { continue }
                let prefix = configuration.location.objectKey("")
                let key = String(full.dropFirst(full.hasPrefix(prefix) ? prefix.count : 0))
                let name = withNames ? try await self.name(ofObjectAt: key) : nil
                await body(Entry(key: key, name: name, byteCount: size, modified: date))
            }
            token = text.components(between: "<NextContinuationToken>", and: "</NextContinuationToken>").first
                .map { $0.withoutEntities }
        } while token != nil
    }

    /// Returns the bytes that are stored for a URL or a program's key; `nil` for none.
    ///
    /// - Throws: the errors of ``forEachEntry(withNames:_:)``.
    public func storedBytes(forKey key: String) async throws(WebImageError) -> Data? {
        for name in [key, "value:" + key] {
            guard let object = try await object(at: SharedObject.key(of: name)),
                [.response, .value].contains(object.kind), object.texts.name.hasSameBytes(as: name)
            else { continue }
            return object.content
        }
        return nil
    }

    /// Removes the object of a URL or a program's key. Whether there is one makes no difference.
    ///
    /// - Throws: the errors of ``forEachEntry(withNames:_:)``.
    public func removeStored(forKey key: String) async throws(WebImageError) {
        for name in [key, "value:" + key] { _ = try await send(.delete, SharedObject.key(of: name)) }
    }

    /// Reads only the object's beginning. The status for an empty one is 416.
    private func name(ofObjectAt key: String) async throws(WebImageError) -> String? {
        let range = HTTPHeader(name: "Range", value: "bytes=0-\(SharedObject.textByteLimit - 1)")
        let response = try await send(
            .get, key, headers: [range], byteLimit: configuration.objectByteLimit + (1 << 20), allowing: [404, 416])
        return SharedObject.name(inBeginning: response.body)
    }

    private func object(at key: String) async throws(WebImageError) -> SharedObject? {
        let response = try await send(.get, key, byteLimit: configuration.objectByteLimit + (1 << 20), allowing: [404])
        return response.statusCode == 200 ? SharedObject(response.body, name: nil, secret: configuration.secret) : nil
    }

    private func send(
        _ method: LoaderRequest.Method, _ key: String?, query: [(name: String, value: String)] = [],
        headers: [HTTPHeader] = [], byteLimit: Int = 1 << 20, allowing statuses: Set<Int> = []
    ) async throws(WebImageError) -> S3Client.Response {
        let url = configuration.location.endpoint
        do throws(S3Client.Failure) {
            let response = try await store.client.send(
                method, key, query: query, headers: headers, byteLimit: byteLimit)
            let isExpected = statuses.contains(response.statusCode) && !response.isBucketMissing
            guard (200..<300).contains(response.statusCode) || isExpected
            else {
                throw S3Client.Failure.refused(status: response.statusCode)
            }
            return response
        } catch {
            switch error {
            case .refused(let status): throw .httpStatus(code: status, url: url)
            case .cancelled: throw .cancelled
            case .tooSlow: throw .timedOut(after: configuration.budget.firstByte, url: url)
            case .tooLong: throw .transport(code: 0, message: "the response is too long", url: url)
            case .unreachable(let message): throw .transport(code: 0, message: message, url: url)
            case .paused: throw .transport(code: 0, message: error.description, url: url)
            }
        }
    }
}
