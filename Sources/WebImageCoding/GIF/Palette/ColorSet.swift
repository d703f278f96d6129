/// Up to 256 colours and a number for each, in the order in which they came.
struct ColorSet: Sendable {
    private(set) var colors: [UInt32] = []
    /// A colour's number plus 1 at a place near its hash; 0 where there is none.
    private var slots = [UInt16](repeating: 0, count: 1024)

    /// Adds a colour unless it is there; `false` if there is no room.
    mutating func insert(_ color: UInt32) -> Bool {
        let slot = slot(of: color)
        if slots[slot] != 0 { return true }
        guard colors.count < 256 else { return false }
        colors.append(color)
        slots[slot] = UInt16(colors.count)
        return true
    }

    /// The number of a colour, if it is there.
    func index(of color: UInt32) -> UInt8? {
        let entry = slots[slot(of: color)]
        return entry == 0 ? nil : UInt8(entry - 1)
    }

    /// Where the colour is, or would be.
    private func slot(of color: UInt32) -> Int {
        var slot = Int((color &* 0x9E37_79B1) >> 22)
        while slots[slot] != 0, colors[Int(slots[slot]) - 1] != color { slot = (slot + 1) & 1023 }
        return slot
    }
}
