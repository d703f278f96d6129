import Dispatch
import FoundationEssentials
import WebImageGTK

/// Loads files that the program makes from photographs, on its own threads. The manager caches them as it does files from
/// a server.
struct SampleLoader: ImageLoader {
    static let scheme = "sample"
    private static let queue = DispatchQueue(label: "gallery-encoding", qos: .utility, attributes: .concurrent)

    func canLoad(_ url: URL) -> Bool { url.scheme == Self.scheme }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let url = request.url
        let cancellation = Cancellation()
        Self.queue.async {
            let result = Result { () throws(WebImageError) in
                try cancellation.check()
                let data = try Self.data(of: url, cancellation)
                handler(.response(LoaderResponse(url: url, expectedByteCount: Int64(data.count))))
                handler(.bytes(data))
            }
            handler(.finished(result))
        }
        return EncodingTask(cancellation: cancellation)
    }

    private static func data(of url: URL, _ cancellation: Cancellation) throws(WebImageError) -> Data {
        if let number = landscapeNumber(of: url) {
            let image = try SampleFile.landscape(number, size: PixelSize(width: 960, height: 600))
            return try CodecRegistry.shared.encode(image, as: .jpeg)
        }
        guard let file = SampleFile(url) else { throw .invalidURL(url.absoluteString) }
        return try file.data(cancellation: cancellation)
    }

    /// The number of a drawn landscape, whose URL is `sample:landscape/` and the number.
    static func landscapeNumber(of url: URL) -> Int? {
        let prefix = "\(scheme):landscape/"
        let text = url.absoluteString
        return text.hasPrefix(prefix) ? Int(text.dropFirst(prefix.count)) : nil
    }
}

/// The encoding of one file.
private struct EncodingTask: LoaderTask {
    let cancellation: Cancellation

    /// The work stays queued, to report its end.
    func cancel() { cancellation.cancel() }
    func setPriority(_ priority: LoadPriority) {}
}
