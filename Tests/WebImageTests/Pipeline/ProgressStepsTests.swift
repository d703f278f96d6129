import Testing

@testable import WebImage

@Suite(.timeLimit(.minutes(3))) struct ProgressStepsTests {
    private func reported(minimumInterval: Double, expected: Int64?, at counts: [Int64]) -> [Int64] {
        var steps = ProgressSteps(minimumInterval: minimumInterval)
        return [steps.begin(expected: expected).received] + counts.compactMap { steps.advance(to: $0)?.received }
    }

    @Test(
        arguments: [
            (0, [0, 1, 2, 49, 50, 99, 100]), (0.25, [0, 49, 99, 100]), (0.5, [0, 50, 100]), (1, [0, 100]),
            (-1, [0, 1, 2, 49, 50, 99, 100]), (7, [0, 100]),
        ] as [(Double, [Int64])])
    func reportsBeginningEndAndRequestedSteps(minimumInterval: Double, expected: [Int64]) {
        #expect(
            reported(minimumInterval: minimumInterval, expected: 100, at: [1, 2, 49, 50, 99, 100]) == expected)
    }

    @Test func reportsEveryPieceOfAnUnknownLength() {
        #expect(reported(minimumInterval: 1, expected: nil, at: [1, 2, 3]) == [0, 1, 2, 3])
    }
}
