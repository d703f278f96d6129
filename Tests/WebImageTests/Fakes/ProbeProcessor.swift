import Dispatch
import WebImage

/// Adds to an image's red, counts how often, and can hold the work up, or fail.
struct ProbeProcessor: PixelProcessor {
    let name: String
    var red: UInt8 = 1
    var failure: WebImageError.ProcessingFailure?
    let probe = Probe()

    var identifier: ProcessorIdentifier { ProcessorIdentifier("probe", ["name": name, "red": "\(red)"]) }

    var runCount: Int { probe.runs.withLock { $0 } }

    func process(_ pixels: PixelBuffer, scale: Double, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer
    {
        probe.runs.withLock { $0 += 1 }
        probe.started.yield()
        if probe.isHeld.withLock({ $0 }) { probe.wait(for: cancellation) }
        try cancellation?.check()
        if let failure { throw .processing(identifier: identifier.description, reason: failure) }
        var result = try MutablePixelBuffer(width: pixels.width, height: pixels.height)
        result.withUnsafeMutableBytes { bytes in
            pixels.withUnsafeBytes { bytes.copyMemory(from: $0) }
            for offset in stride(from: 0, to: bytes.count, by: 4) { bytes[offset] &+= red }
        }
        return result.freeze(isOpaque: pixels.isOpaque)
    }

    final class Probe: Sendable {
        /// Yields whenever the processor begins.
        let starts: AsyncStream<Void>
        fileprivate let started: AsyncStream<Void>.Continuation
        fileprivate let runs = LockBox(0)
        let isHeld = LockBox(false)
        private let gate = DispatchSemaphore(value: 0)

        init() { (starts, started) = AsyncStream.makeStream() }

        func release() { gate.signal() }

        /// Polls like a processor between rows; 10 s at most, as a safety net.
        fileprivate func wait(for cancellation: Cancellation?) {
            for _ in 0..<1000 {
                if cancellation?.isCancelled == true { return }
                if gate.wait(timeout: .now() + .milliseconds(10)) == .success { return }
            }
        }
    }
}
