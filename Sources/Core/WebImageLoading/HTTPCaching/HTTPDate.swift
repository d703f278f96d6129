package import FoundationEssentials

/// Dates in HTTP header fields (RFC 9110, 5.6.7).
///
/// All three forms are read, as RFC 9111, 4.2, requires of caches: names in any case, only GMT as zone, and single
/// spaces between the parts.
package enum HTTPDate {
    /// Returns the time of an HTTP date; `nil` for other text.
    ///
    /// - Parameter now: decides the century of two-digit years: a date more than 50 years ahead is in the past.
    package static func parse(_ text: String, now: Date = Date()) -> Date? {
        var parts = text.trimmingHTTPSpace.split(separator: " ", omittingEmptySubsequences: false)
            .map { $0.lowercased() }
        if parts.count == 6, parts[0].hasSuffix(","), isDayName(parts[0].dropLast(), abbreviated: true) {
            // Sun, 06 Nov 1994 08:49:37 GMT
            return date(day: parts[1], month: parts[2], year: parts[3], time: parts[4], zone: parts[5])
        }
        if parts.count == 4, parts[0].hasSuffix(","), isDayName(parts[0].dropLast(), abbreviated: false) {
            // Sunday, 06-Nov-94 08:49:37 GMT
            let day = parts[1].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
            guard day.count == 3, let year = fullYear(day[2], now: now) else { return nil }
            return date(day: day[0], month: day[1], year: String(year), time: parts[2], zone: parts[3])
        }
        // Sun Nov  6 08:49:37 1994: in this form the first digit of a day below 10 is a space.
        if parts.count == 6, parts[2].isEmpty, parts[3].utf8.count == 1 {
            parts.remove(at: 2)
            parts[2] = "0" + parts[2]
        }
        guard parts.count == 5, isDayName(parts[0][...], abbreviated: true) else { return nil }
        return date(day: parts[2], month: parts[1], year: parts[4], time: parts[3], zone: "gmt")
    }

    /// Returns `date` in the common form, to the second: `Sun, 06 Nov 1994 08:49:37 GMT`.
    package static func format(_ date: Date) -> String {
        let seconds = Int(date.timeIntervalSince1970.rounded(.down))
        let (dayNumber, second) = seconds.quotientAndPositiveRemainder(dividingBy: 86_400)
        let (year, month, day) = civilDate(ofDayNumber: dayNumber)
        // 1 January 1970 was a Thursday.
        let weekday = (dayNumber + 4).quotientAndPositiveRemainder(dividingBy: 7).remainder
        func padded(_ number: Int, _ length: Int = 2) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, length - digits.count)) + digits
        }
        let time = [second / 3600, second / 60 % 60, second % 60].map { padded($0) }.joined(separator: ":")
        return
            "\(dayNames[weekday].prefix(3).capitalizedASCII), \(padded(day)) \(monthNames[month - 1].capitalizedASCII) "
            + "\(padded(year, 4)) \(time) GMT"
    }

    private static let dayNames = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
    private static let monthNames = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    private static func isDayName(_ name: Substring, abbreviated: Bool) -> Bool {
        dayNames.contains { abbreviated ? $0.prefix(3) == name : $0 == name }
    }

    private static func date(day: String, month: String, year: String, time: String, zone: String) -> Date? {
        guard zone == "gmt", let day = number(day[...], digits: 2), let year = number(year[...], digits: 4),
            let month = monthNames.firstIndex(of: month).map({ $0 + 1 })
        else { return nil }
        let clock = time.split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3, let hour = number(clock[0], digits: 2), let minute = number(clock[1], digits: 2),
            let second = number(clock[2], digits: 2), hour < 24, minute < 60, second <= 60,
            (1...dayCount(ofMonth: month, in: year)).contains(day)
        else { return nil }
        let days = dayNumber(year: year, month: month, day: day)
        return Date(timeIntervalSince1970: Double(days * 86_400 + hour * 3600 + minute * 60 + second))
    }

    private static func number(_ text: Substring, digits: Int) -> Int? {
        text.utf8.count == digits ? text.decimalNumber.map { Int($0) } : nil
    }

    private static func fullYear(_ text: String, now: Date) -> Int? {
        guard let short = number(text[...], digits: 2) else { return nil }
        let days = Int((now.timeIntervalSince1970 / 86_400).rounded(.down))
        let current = civilDate(ofDayNumber: days).year
        let year = current / 100 * 100 + short
        return year > current + 50 ? year - 100 : year
    }

    private static func dayCount(ofMonth month: Int, in year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    // Both directions count years from March, so that the leap day is a year's last, in eras of 400 years (146,097
    // days), after which the Gregorian calendar repeats.

    private static func dayNumber(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = year.quotientAndPositiveRemainder(dividingBy: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civilDate(ofDayNumber number: Int) -> (year: Int, month: Int, day: Int) {
        let (era, dayOfEra) = (number + 719_468).quotientAndPositiveRemainder(dividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }
}

extension Int {
    fileprivate func quotientAndPositiveRemainder(dividingBy divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

extension StringProtocol {
    fileprivate var capitalizedASCII: String { prefix(1).uppercased() + dropFirst() }
}
