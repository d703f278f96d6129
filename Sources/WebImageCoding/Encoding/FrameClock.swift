/// Turns seconds into whole units, frame by frame, so that roundings do not add up: of a third of a second each, in
/// hundredths, come 33, 34 and 33.
struct FrameClock {
    private let unitsPerSecond: Double
    private let range: ClosedRange<Int>
    private var owed = 0.0

    /// - Parameters:
    ///   - minimum: the shortest that players show as it is: what is less they take for a tenth of a second.
    ///   - maximum: the longest that the format holds.
    init(unitsPerSecond: Int, minimum: Int, maximum: Int) {
        self.unitsPerSecond = Double(unitsPerSecond)
        range = minimum...maximum
    }

    /// The units for the next frame.
    mutating func units(for seconds: Double) -> Int {
        let exact = FrameDuration.played(seconds) * unitsPerSecond + owed
        let units = exact < Double(range.upperBound) ? max(Int(exact.rounded()), range.lowerBound) : range.upperBound
        // What the range takes or adds is not owed: a long frame must not pay for a hundred short ones.
        owed = min(max(exact - Double(units), -0.5), 0.5)
        return units
    }
}
