import Dispatch
import FoundationEssentials
import WebImageCore

/// When the next preview is due: an interval after the last, or later if previews take long to make.
struct PreviewTiming: Sendable {
    /// The minimum time between the starts of two previews.
    let interval: Duration
    /// The current time. Tests set it.
    var now: @Sendable () -> BootTime = { BootTime.now }
    /// Calls `body` after a delay, on any thread.
    var call: @Sendable (_ delay: Duration, _ body: @escaping @Sendable () -> Void) -> Void = { delay, body in
        let (seconds, attoseconds) = delay.components
        // A preview that is due in an hour never comes.
        let milliseconds = Int(min(seconds, 3600) * 1000 + attoseconds / 1_000_000_000_000_000)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds + 1), execute: body)
    }

    /// Previews take at most a fifth of a processor's time.
    static let costFactor = 4

    /// - Parameter isBlurred: whether previews are blurred. They then come half as often, because a blur costs as much
    ///   as a decode and hides the difference.
    func next(begun: BootTime, ended: BootTime, isBlurred: Bool) -> BootTime {
        let due = begun + (isBlurred ? interval * 2 : interval)
        return max(due, Self.earliest(begun: begun, ended: ended))
    }

    /// Returns the earliest start by cost alone, which an attempt without a preview has as well.
    static func earliest(begun: BootTime, ended: BootTime) -> BootTime {
        ended + (ended - begun) * costFactor
    }
}

/// Lets one piece of work on previews run at a time, and none before it is due.
struct PreviewPace {
    private var isBusy = false
    private var due: BootTime?
    private var isWaiting = false

    /// Returns the time until the next preview. If it is zero, the caller starts the preview. Otherwise the caller
    /// waits, and then calls ``endWait()``. `nil` if a preview is being made, or a caller waits already.
    mutating func next(at now: BootTime) -> Duration? {
        guard !isBusy else { return nil }
        if let due, due > now {
            defer { isWaiting = true }
            return isWaiting ? nil : due - now
        }
        isBusy = true
        return .zero
    }

    mutating func endWait() { isWaiting = false }

    /// - Parameter due: when the next preview may start; `nil` leaves that unchanged.
    mutating func end(due: BootTime?) {
        isBusy = false
        if let due { self.due = due }
    }
}

/// How much a preview is blurred.
enum BlurRadius {
    /// Returns the radius in points, as in YYWebImage: 45 for the first bytes, 16 for a quarter of the file, 7 for half
    /// of it, 1 at its end. If the length is unknown, it is 32, 16, 11 … for the first preview, the second, the third.
    ///
    /// - Parameters:
    ///   - expected: the file's length; `nil` or 0 if unknown.
    ///   - number: the number of the preview, from 1.
    static func points(received: Int64, expected: Int64?, number: Int) -> Double {
        guard let expected, expected > 0 else { return 32 / Double(max(1, number)) }
        let part = min(1, max(0, Double(received) / Double(expected)))
        return 32 * (1 / (3 * part + 0.6) - 0.25)
    }
}

/// The order in which a file stores its pixels.
enum PassOrder {
    /// Row by row.
    case rows
    /// The whole image coarsely, then finer: a progressive JPEG, an interlaced PNG.
    case coarseToFine

    /// Reads the order from the first bytes of a file; `nil` if more bytes are needed.
    init?(startOf data: Data) {
        let bytes = [UInt8](data.prefix(Self.byteLimit))
        switch ImageFormat(signatureOf: data) {
        // The interlace method is the last byte of the first chunk (PNG, 11.2.1).
        case .png where bytes.count > 28: self = bytes[28] == 1 ? .coarseToFine : .rows
        case .png: return nil
        case .jpeg:
            guard let order = Self.jpegOrder(bytes) else {
                guard bytes.count >= Self.byteLimit else { return nil }
                self = .rows
                return
            }
            self = order
        case nil where bytes.count < 12: return nil
        default: self = .rows
        }
    }

    /// The frame header precedes the first scan. Photographs have less metadata than this before it.
    private static let byteLimit = 1 << 20

    /// Walks the markers up to the frame header (ITU-T T.81, B.1.1.3 and table B.1).
    private static func jpegOrder(_ bytes: [UInt8]) -> PassOrder? {
        var position = 2
        while position + 3 < bytes.count {
            // Stray bytes between segments are skipped, as in libjpeg.
            guard bytes[position] == 0xFF else {
                position += 1
                continue
            }
            let marker = bytes[position + 1]
            switch marker {
            case 0xFF: position += 1
            case 0x00: position += 2
            case 0x01, 0xD0...0xD7: position += 2
            case 0xC2, 0xC6, 0xCA, 0xCE: return .coarseToFine
            case 0xC0, 0xC1, 0xC3, 0xC5, 0xC7, 0xC9, 0xCB, 0xCD, 0xCF, 0xD9, 0xDA: return .rows
            // The length includes its own two bytes, even if the file says less.
            default: position += 2 + max(2, Int(bytes[position + 2]) << 8 | Int(bytes[position + 3]))
            }
        }
        return nil
    }
}
