/// A number of bytes as people read it: `512 B`, `1.5 KiB`, `12.3 MiB`.
struct ByteCount: CustomStringConvertible {
    let value: Int

    init(_ value: Int) { self.value = value }

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
