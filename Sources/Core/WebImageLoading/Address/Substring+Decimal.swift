extension Substring {
    /// Whether it consists of decimal digits. `Int` also accepts a sign.
    var isDecimal: Bool { !isEmpty && utf8.allSatisfy { (0x30...0x39).contains($0) } }

    /// The number that the decimal digits are; `nil` for other text and above `Int64.max`. Unlike `Int64`, it is
    /// compiled once for all uses.
    var decimalNumber: Int64? {
        guard isDecimal else { return nil }
        var number: Int64 = 0
        for digit in utf8 {
            let (tens, overflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, exceeds) = tens.addingReportingOverflow(Int64(digit) - 0x30)
            if overflows || exceeds { return nil }
            number = sum
        }
        return number
    }
}
