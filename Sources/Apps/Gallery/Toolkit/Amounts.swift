import FoundationEssentials

/// Numbers with units, for users.
enum Amount {
    /// A number of bytes: `512 B`, `1.5 KiB`, `12.3 MiB`.
    static func bytes(_ count: some BinaryInteger) -> String {
        guard count >= 1024 else { return "\(count) B" }
        var amount = Double(count) / 1024
        for unit in ["KiB", "MiB", "GiB"] {
            if amount < 1023.95 { return "\(decimal(amount)) \(unit)" }
            amount /= 1024
        }
        return "\(decimal(amount)) TiB"
    }

    /// A duration in seconds: `40 µs`, `12.3 ms`, `1.2 s`, `3 min`.
    static func duration(_ seconds: Double) -> String {
        switch abs(seconds) {
        case 0: "0 ms"
        case ..<0.00095: "\(Int((seconds * 1e6).rounded())) µs"
        case ..<0.09995: "\(decimal(seconds * 1000)) ms"
        case ..<0.9995: "\(Int((seconds * 1000).rounded())) ms"
        case ..<99.95: "\(decimal(seconds)) s"
        default: longDuration(seconds)
        }
    }

    /// A duration of a second or more: `40 s`, `5 min`, `3 h`, `12 days`.
    static func longDuration(_ seconds: Double) -> String {
        switch abs(seconds) {
        case ..<100: "\(Int(seconds.rounded())) s"
        case ..<(100 * 60): "\(Int((seconds / 60).rounded())) min"
        case ..<(2 * 86_400): "\(Int((seconds / 3_600).rounded())) h"
        default: days(Int(min(max(seconds / 86_400, -1e9), 1e9).rounded()))
        }
    }

    private static func days(_ count: Int) -> String { counted("{count} day", "{count} days", count: count) }

    /// A number of bytes in a second: `1.5 KiB/s`.
    static func rate(_ bytesPerSecond: Double) -> String { "\(bytes(Int(bytesPerSecond)))/s" }

    static func percent(_ fraction: Double) -> String { "\(Int((fraction * 100).rounded())) %" }

    /// An angle without its sign: `46.5583°`.
    static func degrees(_ angle: Double) -> String {
        let parts = Int((min(abs(angle), 1e9) * 10_000).rounded())
        return "\(parts / 10_000).\(String(10_000 + parts % 10_000).dropFirst())°"
    }

    /// With at most one decimal place.
    static func decimal(_ number: Double) -> String {
        let tenths = Int(min(max(number * 10, -1e15), 1e15).rounded())
        let (whole, rest) = (abs(tenths) / 10, abs(tenths) % 10)
        return (tenths < 0 ? "-" : "") + "\(whole)" + (rest == 0 ? "" : ".\(rest)")
    }
}
