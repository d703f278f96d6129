import WebImageGTK

extension WorkQueue {
    /// For work with files, which blocks. A mount that does not answer blocks one of its threads.
    static let files = WorkQueue(label: "gallery-files", threadCount: 4)

    /// Returns what `body` returns or throws on a thread of the queue. It is called even if the task is cancelled before.
    ///
    /// - Parameter body: gets a flag that is set when the task is cancelled.
    func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable (Cancellation) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let cancellation = Cancellation()
        let result: Result<Value, Failure> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                submit { continuation.resume(returning: Result { () throws(Failure) in try body(cancellation) }) }
            }
        } onCancel: {
            cancellation.cancel()
        }
        return try result.get()
    }
}
