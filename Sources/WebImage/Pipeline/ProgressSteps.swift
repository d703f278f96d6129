/// Which progress is worth a report: the beginning, the end, and steps of a minimum length between them.
struct ProgressSteps {
    /// Of the whole length.
    private let minimumInterval: Double
    private var expected: Int64?
    private var reported: Int64 = 0

    /// - Parameter minimumInterval: 0 reports every piece, 1 only beginning and end; others count as the nearer of the two.
    init(minimumInterval: Double) { self.minimumInterval = min(1, max(0, minimumInterval)) }

    /// Where the length is unknown, `nil`, every piece is a step.
    mutating func begin(expected: Int64?) -> LoadProgress {
        self.expected = expected
        return LoadProgress(received: 0, expected: expected)
    }

    /// What to report after so many bytes, if anything.
    mutating func advance(to received: Int64) -> LoadProgress? {
        if let expected, received < expected, Double(received - reported) < minimumInterval * Double(expected) {
            return nil
        }
        reported = received
        return LoadProgress(received: received, expected: expected)
    }
}
