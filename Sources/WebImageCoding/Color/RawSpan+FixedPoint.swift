extension RawSpan {
    /// ICC's `s15Fixed16Number` at `offset`; `nil` if it is not all inside the data.
    func fixedPoint(at offset: Int) -> Double? {
        integer(at: offset, count: 4, isBigEndian: true).map { Double(Int32(truncatingIfNeeded: $0)) / 65536 }
    }
}
