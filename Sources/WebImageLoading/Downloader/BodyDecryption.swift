internal import FoundationEssentials
internal import WebImageCore

/// Collects a body for the decryptor, which wants it whole.
final class BodyDecryption: Sendable {
    private let decryptor: @Sendable (Data, LoaderResponse) -> Data?
    private let collector: BodyCollector
    private let response = Lock<LoaderResponse?>(nil)
    private static let queue = WorkQueue(label: "webimage-decrypt", threadCount: 2)

    init(_ decryptor: @escaping @Sendable (Data, LoaderResponse) -> Data?, storage: BodyStorage) {
        self.decryptor = decryptor
        collector = BodyCollector(storage)
    }

    /// Names the load whose body it collects.
    func attach(_ task: any LoaderTask) { collector.attach(task) }

    /// Why the body could not be kept.
    var failure: WebImageError? { collector.failure }

    /// Whether there is a body: a load that ends without one has nothing to decrypt.
    var isNeeded: Bool { collector.byteCount > 0 }

    /// Takes the head; how it looks to the caller.
    func begin(_ response: LoaderResponse) -> LoaderResponse {
        self.response.withLock { $0 = response }
        collector.begin(response)
        var announced = response
        announced.expectedByteCount = nil
        return announced
    }

    func append(_ bytes: Data) { collector.append(bytes) }

    /// Calls the decryptor, then `completion` with what it gave, both on a thread for that.
    func decrypt(url: URL, completion: @escaping @Sendable (Result<Data, WebImageError>) -> Void) {
        collector.end { [self] result in
            Self.queue.submit { [self] in
                completion(
                    result.flatMap { body in
                        let response = response.withLock { $0 } ?? LoaderResponse(url: url)
                        return decryptor(body, response).map { .success($0) }
                            ?? .failure(.decryptionFailed(url: url))
                    })
            }
        }
    }
}
