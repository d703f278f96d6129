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
