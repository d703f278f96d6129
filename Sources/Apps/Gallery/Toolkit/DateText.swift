import FoundationEssentials
import Glibc

/// Dates for users.
enum DateText {
    /// In the local time zone, such as `2026-05-01 12:00:00`.
    static func text(_ date: Date) -> String {
        var seconds = time_t(date.timeIntervalSince1970)
        var parts = tm()
        localtime_r(&seconds, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let day = "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
        return "\(day) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
    }

    /// The same without seconds.
    static func minutes(_ date: Date) -> String { String(text(date).dropLast(3)) }

    /// Returns a date of EXIF, `YYYY:MM:DD HH:MM:SS`, as `YYYY-MM-DD HH:MM`; other texts as they are.
    static func minutes(ofEXIF text: String) -> String {
        let parts = text.split(separator: " ")
        guard text.utf8.count == 19, parts.count == 2 else { return text }
        return "\(parts[0].replacing(":", with: "-")) \(parts[1].prefix(5))"
    }

    /// The date, and how long ago it was or how far ahead it is.
    static func text(_ date: Date, now: Date) -> String {
        let age = now.timeIntervalSince(date)
        let distance = age >= 0 ? "\(Amount.longDuration(age)) ago" : "in \(Amount.longDuration(-age))"
        return "\(text(date)) (\(distance))"
    }
}
