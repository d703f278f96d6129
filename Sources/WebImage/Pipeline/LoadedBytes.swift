import FoundationEssentials
import Synchronization
import WebImageCore
import WebImageLoading

/// A whole body, as the bytes stage hands it to everybody who waits for it.
final class LoadedBytes: Sendable {
    let data: Data
    let origin: ImageOrigin
    /// What the server called them.
    let contentType: String?
    private let awaitsStorage: Atomic<Bool>

    /// - Parameter awaitsStorage: whether they belong into the disk cache once they have proved to be a picture.
    init(data: Data, origin: ImageOrigin, contentType: String? = nil, awaitsStorage: Bool = false) {
        self.data = data
        self.origin = origin
        self.contentType = contentType
        self.awaitsStorage = Atomic(awaitsStorage)
    }

    /// `true` for the first caller, if they are to be stored: several pictures may be decoded from the same bytes.
    func claimStorage() -> Bool { awaitsStorage.exchange(false, ordering: .relaxed) }
}

/// Puts a body together as it arrives.
final class BodyCollector: Sendable {
    private let body = Lock(Body())

    private struct Body {
        var data = Data()
        var response: LoaderResponse?
    }

    /// Notes the head, and makes room as far as its length can be believed.
    func begin(_ response: LoaderResponse) -> LoadProgress {
        body.withLock { body in
            body.response = response
            let room = min(response.expectedByteCount ?? 0, Self.believedByteCount)
            body.data.reserveCapacity(Int(room))
        }
        return LoadProgress(received: 0, expected: response.expectedByteCount)
    }

    func append(_ bytes: Data) -> LoadProgress {
        body.withLock { body in
            body.data.append(bytes)
            return LoadProgress(received: Int64(body.data.count), expected: body.response?.expectedByteCount)
        }
    }

    /// The body, and its type as the server gave it.
    func end() -> (data: Data, contentType: String?) {
        body.withLock { ($0.data, $0.response?.headerValue("Content-Type")) }
    }

    /// A server may claim any length; beyond this the buffer grows with what really comes.
    private static let believedByteCount: Int64 = 32 << 20
}
