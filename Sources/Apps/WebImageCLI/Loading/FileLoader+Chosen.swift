internal import Dispatch
internal import FoundationEssentials
internal import WebImage

extension FileLoader {
    /// Returns the bytes of a file. Those of a long one take no memory.
    func bytes(at url: URL) async throws(WebImageError) -> Data {
        let result: Result<Data, WebImageError> = await withCheckedContinuation { continuation in
            read(url) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Returns the bytes of a file like ``bytes(at:)``, and blocks the calling thread.
    func bytesBlocking(at url: URL) throws(WebImageError) -> Data {
        let (end, result) = (DispatchSemaphore(value: 0), LockBox(Result<Data, WebImageError>.failure(.cancelled)))
        read(url) { bytes in
            result.withLock { $0 = bytes }
            end.signal()
        }
        end.wait()
        return try result.withLock { $0 }.get()
    }

    /// - Parameter completion: called on any thread.
    private func read(_ url: URL, _ completion: @escaping @Sendable (Result<Data, WebImageError>) -> Void) {
        let body = BodyCollector(BodyStorage())
        let task = load(LoaderRequest(url: url), priority: .normal) { event in
            switch event {
            case .report, .refused: break
            case .response(let response): body.begin(response)
            case .bytes(let bytes): body.append(bytes)
            case .finished(.success):
                body.loadDidEnd()
                body.end(completion)
            case .finished(.failure(let error)):
                body.loadDidEnd()
                completion(.failure(body.failure ?? error))
            }
        }
        body.attach(task)
    }
}
