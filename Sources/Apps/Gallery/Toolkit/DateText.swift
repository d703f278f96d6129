import CWebImageGTK
import FoundationEssentials
import Glibc
import WebImageGTK

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

    /// Returns a day, such as `Friday, 1 May 2026`; `nil` for one that no calendar has.
    static func day(year: Int, month: Int, day: Int) -> String? {
        format(g_date_time_new_utc(gint(year), gint(month), gint(day), 12, 0, 0), localized("%A, %-e %B %Y"))
    }

    /// The date and the time of a camera's clock, such as `Friday, 1 May 2026, 12:00:00`.
    static func text(_ date: EXIFFields.DateTime) -> String {
        let clock = g_date_time_new_utc(
            gint(date.year), gint(date.month), gint(date.day), gint(date.hour), gint(date.minute), Double(date.second))
        return format(clock, localized("%A, %-e %B %Y, %X")) ?? date.description
    }

    /// Returns a date in GLib's format, in the language of the user. The date is released.
    private static func format(_ date: OpaquePointer?, _ format: String) -> String? {
        guard let date else { return nil }
        defer { g_date_time_unref(date) }
        guard let text = g_date_time_format(date, format) else { return nil }
        defer { g_free(text) }
        return String(cString: text)
    }

    /// The date, and how long ago it was or how far ahead it is.
    static func text(_ date: Date, now: Date) -> String {
        let age = now.timeIntervalSince(date)
        let values = ["date": text(date), "time": Amount.longDuration(abs(age))]
        return age >= 0 ? localized("{date} ({time} ago)", values) : localized("{date} (in {time})", values)
    }
}
