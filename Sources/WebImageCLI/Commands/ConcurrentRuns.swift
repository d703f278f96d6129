/// Runs `body` for each index, at most `limit` concurrently, and passes on each result as soon as it is available.
@MainActor
func runConcurrently<Output: Sendable>(
    over indices: Range<Int>, atMost limit: Int, _ body: @escaping @Sendable (Int) async -> Output,
    onResult: (Int, Output) -> Void
) async {
    await withTaskGroup(of: (Int, Output).self) { group in
        var waiting = indices.makeIterator()
        func startNext() {
            guard let index = waiting.next() else { return }
            group.addTask { (index, await body(index)) }
        }
        for _ in 0..<limit { startNext() }
        for await (index, output) in group {
            onResult(index, output)
            startNext()
        }
    }
}
