public import FoundationEssentials
internal import Glibc

extension EXIFFields {
    /// A date and a time as a camera notes them: those of its clock, often without the zone.
    ///
    /// ```swift
    /// if let date = try CodecRegistry.shared.metadata(of: data).exifFields?.date {
    ///     print(date.year, date.month, date.moment.map { $0.formatted() } ?? "in an unknown zone")
    /// }
    /// ```
    public struct DateTime: Sendable, Hashable, CustomStringConvertible {
        /// The year.
        public let year: Int
        /// The month, from 1 to 12.
        public let month: Int
        /// The day of the month, from 1.
        public let day: Int
        /// The hour, from 0 to 23.
        public let hour: Int
        /// The minute, from 0 to 59.
        public let minute: Int
        /// The second, from 0 to 59.
        public let second: Int
        /// What is to be added to the second: less than one.
        public let fraction: Duration
        /// How far the clock is ahead of UTC; `nil` if the file does not have the zone.
        public let utcOffset: Duration?

        /// The moment; `nil` without the zone.
        public var moment: Date? {
            utcOffset.map { Date(timeIntervalSince1970: Double(utcSeconds) + (fraction - $0) / .seconds(1)) }
        }

        /// In EXIF's form, without the fraction and the zone: `2024:05:01 12:00:00`. The order of such texts is that of the times.
        public var description: String {
            func digits(_ number: Int, _ count: Int = 2) -> String {
                let text = "\(number)"
                return String(repeating: "0", count: max(0, count - text.count)) + text
            }
            return
                "\(digits(year, 4)):\(digits(month)):\(digits(day)) \(digits(hour)):\(digits(minute)):\(digits(second))"
        }

        /// The seconds from 1970 to a moment with this date and time in UTC.
        private var utcSeconds: Int {
            var time = tm()
            (time.tm_year, time.tm_mon, time.tm_mday) = (Int32(year - 1900), Int32(month - 1), Int32(day))
            (time.tm_hour, time.tm_min, time.tm_sec) = (Int32(hour), Int32(minute), Int32(second))
            return timegm(&time)
        }

        /// Reads the texts of a file. Any separators are accepted, as programs write several.
        ///
        /// - Parameters:
        ///   - text: such as `2024:05:01 12:00:00`.
        ///   - fraction: the digits behind the decimal point.
        ///   - offset: such as `+02:00`.
        init?(_ text: String?, fraction: String?, offset: String?) {
            let parts = text?.split { !$0.isASCII || !$0.isWholeNumber }.prefix(6) ?? []
            guard parts.map(\.count) == [4, 2, 2, 2, 2, 2] else { return nil }
            let numbers = parts.compactMap { Int($0) }
            (year, month, day) = (numbers[0], numbers[1], numbers[2])
            (hour, minute, second) = (numbers[3], numbers[4], numbers[5])
            guard year > 0, (1...12).contains(month), (1...Self.dayCount(of: month, in: year)).contains(day),
                hour < 24, minute < 60, second < 60
            else { return nil }
            self.fraction = Self.fraction(fraction ?? "")
            utcOffset = offset.flatMap(Self.offset)
        }

        private static func dayCount(of month: Int, in year: Int) -> Int {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
        }

        private static func fraction(_ text: String) -> Duration {
            let digits = text.prefix(while: { $0.isASCII && $0.isWholeNumber }).prefix(9)
            let unit = digits.reduce(1) { unit, _ in unit * 10 }
            return .seconds(Int(digits) ?? 0) / unit
        }

        private static func offset(_ text: String) -> Duration? {
            let parts = text.dropFirst().split(separator: ":", omittingEmptySubsequences: false)
            guard let sign = ["+": 1, "-": -1][text.prefix(1)], parts.map(\.count) == [2, 2],
                let hours = Int(parts[0]), let minutes = Int(parts[1]), (0...15).contains(hours),
                (0...59).contains(minutes)
            else { return nil }
            return .seconds(sign * (hours * 3_600 + minutes * 60))
        }
    }
}
