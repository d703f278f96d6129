internal import Dispatch
public import FoundationEssentials
public import WebImage

extension FileLoader {
    /// Returns the bytes of a file. Those of a long one take no memory.
    public func bytes(at url: URL) async throws(WebImageError) -> Data {
        let result: Result<Data, WebImageError> = await withCheckedContinuation { continuation in
            read(url) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Returns the bytes of a file like ``bytes(at:)``, and blocks the calling thread.
    public func bytesBlocking(at url: URL) throws(WebImageError) -> Data {
        let (end, result) = (DispatchSemaphore(value: 0), LockedBox(Result<Data, WebImageError>.failure(.cancelled)))
        read(url) { bytes in
            result.withLock { $0 = bytes }
            end.signal()
        }
        end.wait()
        return try result.withLock { $0 }.get()
    }

    /// - Parameter completion: called on any thread.
    private func read(_ url: URL, _ completion: @escaping @Sendable (Result<Data, WebImageError>) -> Void) {
        let body = LockedBox(Data())
        _ = load(LoaderRequest(url: url), priority: .normal) { event in
            switch event {
            case .report, .refused, .response: break
            // A long file comes in one piece, which is mapped.
            case .bytes(let bytes): body.withLock { $0.isEmpty ? $0 = bytes : $0.append(bytes) }
            case .finished(let result): completion(result.map { body.withLock { $0 } })
            }
        }
    }
}
