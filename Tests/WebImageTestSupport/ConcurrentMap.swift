extension Sequence where Element: Sendable {
    /// Returns the results of `body` in the order of the elements. Runs it for `width` elements at a time: cases that start programs or wait
    /// take less time side by side.
    public func concurrentMap<Result: Sendable>(
        width: Int = 4, _ body: @escaping @Sendable (Element) async throws -> Result
    ) async throws -> [Result] {
        try await withThrowingTaskGroup(of: (Int, Result).self) { group in
            var results: [Int: Result] = [:]
            for (number, element) in enumerated() {
                if number >= width, let (index, result) = try await group.next() { results[index] = result }
                group.addTask { (number, try await body(element)) }
            }
            for try await (index, result) in group { results[index] = result }
            return results.sorted { $0.key < $1.key }.map(\.value)
        }
    }
}
