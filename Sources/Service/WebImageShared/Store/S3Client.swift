package import FoundationEssentials
internal import WebImageCore
package import WebImageLoading

/// Sends single requests to an S3 store, signed by libcurl (Signature Version 4).
///
/// libcurl 7.88 (Debian 12) adds no `x-amz-content-sha256`, which stores require, but signs one that the request has; 8.14 adds
/// one if it is missing. So each request has its own. Keys consist of characters that no encoding changes, and queries are in
/// canonical order, because 7.88 signs both unchanged.
package final class S3Client: Sendable {
    package struct Response: Sendable {
        package let statusCode: Int
        package let head: TransferHead
        package let body: Data

        /// The store's name for an error, such as `AccessDenied`; `nil` without one.
        var errorCode: String? {
            guard statusCode >= 400 else { return nil }
            return Substring(decoding: body.prefix(4096), as: UTF8.self).components(between: "<Code>", and: "</Code>")
                .first.map { String($0) }
        }

        /// Whether the bucket is missing, and not only the object.
        var isBucketMissing: Bool { statusCode == 404 && errorCode == "NoSuchBucket" }

        /// Whether the store has no space left, or none for this account.
        var isFull: Bool { statusCode == 507 || statusCode == 403 && errorCode == "QuotaExceeded" }

        /// Whether the store lacks the feature that the request uses.
        var isUnsupported: Bool { statusCode == 501 }

        /// Whether further requests are likely to fail as well: wrong keys, a missing bucket, an error of the store.
        var isFailure: Bool {
            (statusCode >= 500 && !isUnsupported) || [401, 403].contains(statusCode) || isBucketMissing
        }

        /// The refusal as a text for traces.
        var refusal: String { "the store refused the request: \(errorCode ?? "status") (\(statusCode))" }

        /// The seconds since the object was stored, by the store's own clock.
        var age: Double? {
            guard let date = head.value("date").flatMap({ HTTPDate.parse($0, now: Date()) }),
                let modified = head.value("last-modified").flatMap({ HTTPDate.parse($0, now: Date()) })
            else { return nil }
            return date.timeIntervalSince(modified)
        }
    }

    package enum Failure: Error, Equatable, CustomStringConvertible {
        /// There is no connection, or it broke.
        case unreachable(String)
        /// The store exceeded the budget.
        case tooSlow
        /// The response is longer than allowed.
        case tooLong
        case cancelled
        /// The store responded with an error status.
        case refused(status: Int)
        /// The circuit breaker allows no request.
        case paused

        package var description: String {
            switch self {
            case .unreachable(let message): "the store cannot be reached: \(message)"
            case .tooSlow: "the store did not respond in time"
            case .tooLong: "the store's response is too long"
            case .cancelled: "cancelled"
            case .refused(let status): "the store refused the request: status (\(status))"
            case .paused: "not used, because it failed"
            }
        }
    }

    private let location: S3Location
    private let credential: S3Credential?
    private let budget: SharedImageCache.Budget
    private let transport: any HTTPTransport
    private let lastID = Lock(UInt64(0))

    package init(_ configuration: SharedImageCache.Configuration) {
        location = configuration.location
        credential = configuration.credential
        budget = configuration.budget
        var transport = CurlTransport.Configuration(connectTimeout: configuration.budget.connect)
        transport.maximumHTTPVersion = .http1_1
        if let path = configuration.authoritiesPath { transport.certificateAuthorities = .file(path) }
        self.transport = CurlTransport(transport)
    }

    /// - Parameters:
    ///   - key: without the prefix, percent-encoded but for unreserved characters and slashes; `nil` for the bucket.
    ///   - byteLimit: the longest response body.
    package func send(
        _ method: LoaderRequest.Method, _ key: String?, query: [(name: String, value: String)] = [],
        headers: [HTTPHeader] = [], body: Data? = nil, byteLimit: Int = 1 << 20
    ) async throws(Failure) -> Response {
        guard let url = location.url(key, query: query), transport.prepare() else {
            throw .unreachable("no thread for the network")
        }
        let digest = SHA256.hexDigest(of: [UInt8](body ?? Data()))
        var request = TransferRequest(
            url: url, headers: headers + [HTTPHeader(name: "x-amz-content-sha256", value: digest)])
        request.method = method
        request.body = body
        if method == .put {
            request.headers.append(HTTPHeader(name: "Content-Type", value: "application/octet-stream"))
        }
        if let credential {
            request.access.credential = Credential(username: credential.keyID, password: credential.secret)
            request.access.authentication = .basic
            request.access.signature = "aws:amz:\(location.region):s3"
            if let token = credential.sessionToken {
                request.headers.append(HTTPHeader(name: "x-amz-security-token", value: token))
            }
        }
        request.limits.idle = budget.firstByte
        request.limits.bytesPerSecond = budget.bytesPerSecond
        request.limits.rateWindow = budget.firstByte
        // The rate includes the body that is sent.
        let byteCount = max(byteLimit, body?.count ?? 0)
        request.limits.total =
            budget.connect + budget.firstByte * 2
            + .seconds(Double(byteCount) / Double(max(1, budget.bytesPerSecond)))
        return try await exchange(request, byteLimit: byteLimit)
    }

    private func exchange(_ request: TransferRequest, byteLimit: Int) async throws(Failure) -> Response {
        let id = lastID.withLock { last in
            last += 1
            return TransferID(rawValue: last)
        }
        let result: Result<Response, Failure> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                transport.start(
                    request, id: id,
                    receiver: S3Receiver(byteLimit: byteLimit) { continuation.resume(returning: $0) })
                if Task.isCancelled { transport.cancel(id) }
            }
        } onCancel: {
            transport.cancel(id)
        }
        return try result.get()
    }
}

/// Collects a response. Called on the transport's thread.
private final class S3Receiver: TransferReceiver {
    private struct State {
        var head: TransferHead?
        var body = Data()
        var isTooLong = false
    }

    private let byteLimit: Int
    private let completion: @Sendable (Result<S3Client.Response, S3Client.Failure>) -> Void
    private let state = Lock(State())

    init(
        byteLimit: Int, _ completion: @escaping @Sendable (Result<S3Client.Response, S3Client.Failure>) -> Void
    ) {
        (self.byteLimit, self.completion) = (byteLimit, completion)
    }

    func transferDidReceive(_ head: TransferHead) -> TransferDisposition {
        state.withLock { state in
            state.head = head
            state.isTooLong = head.contentLength.map { $0 > byteLimit } ?? false
            return state.isTooLong ? .stop : .proceed
        }
    }

    func transferDidReceive(_ bytes: Data) -> TransferDisposition {
        state.withLock { state in
            state.body.append(bytes)
            state.isTooLong = state.body.count > byteLimit
            return state.isTooLong ? .stop : .proceed
        }
    }

    func transferDidEnd(_ end: TransferEnd, metrics: TransferMetrics?) {
        let state = state.withLock { $0 }
        completion(result(of: end, state))
    }

    private func result(of end: TransferEnd, _ state: State) -> Result<S3Client.Response, S3Client.Failure> {
        switch end {
        case .complete:
            guard let head = state.head else { return .failure(.unreachable("no response")) }
            return .success(S3Client.Response(statusCode: head.statusCode, head: head, body: state.body))
        case .cancelled: return .failure(.cancelled)
        case .stopped where state.isTooLong: return .failure(.tooLong)
        case .timedOut, .connectTimedOut: return .failure(.tooSlow)
        case .failed(_, let message): return .failure(.unreachable(message))
        case .untrusted(let reason): return .failure(.unreachable("the store's certificate is not trusted: \(reason)"))
        default: return .failure(.unreachable("\(end)"))
        }
    }
}
