internal import FoundationEssentials
internal import ProgramSupport

/// A number of bytes in readable form: `512 B`, `1.5 KiB`, `12.3 MiB`.
struct ByteCount: CustomStringConvertible {
    let value: Int

    init(_ value: Int) { self.value = value }

    /// Parses `512`, `500K` or, as sizes are printed, `20 MiB`.
    init?(_ text: String) {
        var text = text.uppercased()[...]
        if text.hasSuffix("IB") { text.removeLast(2) }
        text = text.filter { $0 != " " }[...]
        let units: [Character: Int] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30]
        let unit = text.last.flatMap { units[$0] }
        guard let number = Int(unit == nil ? text[...] : text.dropLast()), number >= 0 else { return nil }
        let (count, isTooLarge) = number.multipliedReportingOverflow(by: unit ?? 1)
        guard !isTooLarge else { return nil }
        value = count
    }

    /// Without a zero behind the point: `1 GiB`, `1.5 GiB`.
    var short: String { description.replacing(".0 ", with: " ") }

    var description: String {
        guard value >= 1024 else { return "\(value) B" }
        var amount = Double(value) / 1024
        for unit in ["KiB", "MiB", "GiB"] {
            if amount < 1023.95 { return "\((amount * 10).rounded() / 10) \(unit)" }
            amount /= 1024
        }
        return "\((amount * 10).rounded() / 10) TiB"
    }
}

/// A duration in a suitable unit: `40 s`, `5 min`, `3 h`, `12 days`.
struct Age {
    /// 0 if the second moment is before the first, as after the clock was set back.
    let seconds: Double

    init(from first: Date, to second: Date) { seconds = max(0, second.timeIntervalSince(first)) }

    var text: LocalizableText {
        switch seconds {
        case ..<60: "\(Int(seconds)) s"
        case ..<3_600: "\(Int(seconds / 60)) min"
        case ..<(2 * 86_400): "\(Int(seconds / 3_600)) h"
        default: days(Int(min(seconds / 86_400, 1e9)))
        }
    }

    private func days(_ count: Int) -> LocalizableText { .counted("\(count) day", "\(count) days", count) }
}
