internal import FoundationEssentials

/// A duration in a suitable unit: `40 s`, `5 min`, `3 h`, `12 days`.
struct Age: CustomStringConvertible {
    /// 0 if the second moment is before the first, as after the clock was set back.
    let seconds: Double

    init(from first: Date, to second: Date) { seconds = max(0, second.timeIntervalSince(first)) }

    var description: String {
        switch seconds {
        case ..<60: "\(Int(seconds)) s"
        case ..<3_600: "\(Int(seconds / 60)) min"
        case ..<(2 * 86_400): "\(Int(seconds / 3_600)) h"
        default: "\(Int(min(seconds / 86_400, 1e9))) days"
        }
    }
}
