public import ProgramSupport

/// Suggests the known word that an unknown one probably stands for.
public enum Suggestion {
    /// Returns the closest of `candidates`, by the number of typing errors between them; `nil` if none is close.
    public static func closest(to word: String, among candidates: [String]) -> String? {
        let limit = max(1, word.count / 3)
        let distances = candidates.map { (candidate: $0, distance: distance(from: word, to: $0)) }
        return distances.filter { $0.distance <= limit }.min { $0.distance < $1.distance }?.candidate
    }

    /// Returns a problem with a word, followed by `; did you mean '…'?` if a candidate is close.
    ///
    /// - Parameter prefix: text before the candidate, such as `--`.
    public static func adding(
        to problem: LocalizableText, for word: String, among candidates: [String], prefix: String = ""
    ) -> LocalizableText {
        guard let candidate = closest(to: word, among: candidates) else { return problem }
        return "\(problem); did you mean '\(prefix)\(candidate)'?"
    }

    /// Counts letters that were inserted, omitted or replaced, and swapped neighbors (optimal string alignment). An
    /// abbreviation counts as one error.
    private static func distance(from word: String, to candidate: String) -> Int {
        if word.count >= 3, candidate.hasPrefix(word), candidate != word { return 1 }
        let (first, second) = (Array(word), Array(candidate))
        var rows = [Array(0...second.count)]
        for i in first.indices {
            var row = [i + 1]
            for j in second.indices {
                let isEqual = first[i] == second[j]
                var best = min(rows[i][j] + (isEqual ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, first[i] == second[j - 1], first[i - 1] == second[j] {
                    best = min(best, rows[i - 1][j - 1] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[first.count][second.count]
    }
}
