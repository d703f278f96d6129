import FoundationEssentials
import Glibc
import WebImage

/// Stands before the real decoders: counts what is decoded, and holds decodes up until they are cancelled.
final class ProbeDecoder: ImageDecoder {
    let format = ImageFormat.png
    /// Yields whenever a decode begins.
    let starts: AsyncStream<Void>
    /// Yields whenever a held decode has seen its cancellation.
    let cancellations: AsyncStream<Void>
    private let started: AsyncStream<Void>.Continuation
    private let cancelled: AsyncStream<Void>.Continuation
    private let holdsUntilCancelled: Bool
    private let count = Lock(0)
    private let real = CodecRegistry()

    init(holdsUntilCancelled: Bool = false) {
        self.holdsUntilCancelled = holdsUntilCancelled
        (starts, started) = AsyncStream.makeStream()
        (cancellations, cancelled) = AsyncStream.makeStream()
    }

    var decodeCount: Int { count.withLock { $0 } }

    func info(of data: Data) throws(WebImageError) -> ImageInfo { try real.info(of: data) }

    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        count.withLock { $0 += 1 }
        started.yield()
        guard holdsUntilCancelled else { return try real.decode(data, options: options) }
        // A safety net: 1,000 × 10 ms.
        for _ in 0..<1000 where options.cancellation?.isCancelled != true { poll(nil, 0, 10) }
        if options.cancellation?.isCancelled == true { cancelled.yield() }
        try options.checkCancellation()
        return try real.decode(data, options: options)
    }
}
