import Dispatch
import FoundationEssentials
import WebImage

/// Stands before the real decoders: counts what is decoded, and can hold the first decode up.
final class ProbeDecoder: ImageDecoder {
    let format = ImageFormat.png
    /// Yields whenever a decode begins.
    let starts: AsyncStream<Void>
    /// Yields when the held decode has seen its cancellation.
    let cancellations: AsyncStream<Void>
    private let started: AsyncStream<Void>.Continuation
    private let cancelled: AsyncStream<Void>.Continuation
    private let gate = DispatchSemaphore(value: 0)
    private let holdsFirst: Bool
    private let count = LockBox(0)
    private let real = CodecRegistry()

    /// - Parameter holdsFirst: whether the first decode waits until it is cancelled or ``release()`` is called.
    init(holdsFirst: Bool = false) {
        self.holdsFirst = holdsFirst
        (starts, started) = AsyncStream.makeStream()
        (cancellations, cancelled) = AsyncStream.makeStream()
    }

    var decodeCount: Int { count.withLock { $0 } }

    func release() { gate.signal() }

    func info(of data: Data) throws(WebImageError) -> ImageInfo { try real.info(of: data) }

    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        let isFirst = count.withLock { count in
            count += 1
            return count == 1
        }
        started.yield()
        if isFirst, holdsFirst { hold(until: options.cancellation) }
        try options.checkCancellation()
        return try real.decode(data, options: options)
    }

    /// Polls like a decoder between rows; 10 s at most, as a safety net.
    private func hold(until cancellation: Cancellation?) {
        for _ in 0..<1000 {
            if cancellation?.isCancelled == true {
                cancelled.yield()
                return
            }
            if gate.wait(timeout: .now() + .milliseconds(10)) == .success { return }
        }
    }
}
