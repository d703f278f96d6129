import WebImageCore

extension Pixels {
    /// How many rows from the top equal those of `whole`, if all others are clear; `nil` if one is neither, or another
    /// size.
    func goodRowCount(of whole: Pixels) -> Int? {
        guard size == whole.size else { return nil }
        let length = size.width * 4
        func row(_ index: Int, of pixels: Pixels) -> ArraySlice<UInt8> {
            pixels.bytes[index * length..<(index + 1) * length]
        }
        let count = (0..<size.height).first { row($0, of: self) != row($0, of: whole) } ?? size.height
        return (count..<size.height).allSatisfy { row($0, of: self).allSatisfy { $0 == 0 } } ? count : nil
    }
}
