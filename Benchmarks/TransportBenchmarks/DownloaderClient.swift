import FoundationEssentials
import BenchmarkSupport
import WebImageCore
import WebImageLoading

extension TransportClient {
    /// Fetches with ``ImageDownloader``.
    func runWithDownloader(authority: String?) -> Never {
        var configuration = ImageDownloader.Configuration()
        configuration.maximumConnectionsPerHost = connectionCount
        configuration.maximumConnections = connectionCount
        configuration.proxy = .none
        if let authority { configuration.certificateAuthorities = .file(authority) }
        let downloader = ImageDownloader(configuration: configuration)
        run { url, completion in
            let body = LockBox(Data())
            _ = downloader.load(LoaderRequest(url: url), priority: .normal) { event in
                switch event {
                case .response(let response):
                    body.withLock { $0.reserveCapacity(Int(response.expectedByteCount ?? 0)) }
                case .bytes(let bytes):
                    body.withLock { $0.append(bytes) }
                case .report, .refused:
                    break
                case .finished(.success):
                    completion(.success(body.withLock { $0 }))
                case .finished(.failure(let error)):
                    completion(.failure(error))
                }
            }
        }
    }
}
