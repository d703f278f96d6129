import WebImageGTK

/// Runs work with files, which blocks, on threads of its own. A mount that does not answer blocks one of them.
enum FileQueue {
    private static let queue = WorkQueue(label: "gallery-files", threadCount: 4)

    /// Returns what `body` returns or throws. It is called even if the task is cancelled before.
    ///
    /// - Parameter body: gets a flag that is set when the task is cancelled.
    static func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable (Cancellation) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let cancellation = Cancellation()
        let result: Result<Value, Failure> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.submit {
                    continuation.resume(returning: Result { () throws(Failure) in try body(cancellation) })
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
        return try result.get()
    }
}
