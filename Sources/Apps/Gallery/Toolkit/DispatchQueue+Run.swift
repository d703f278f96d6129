import Dispatch
import WebImageGTK

extension DispatchQueue {
    /// For work with files, which blocks. Others run while a mount does not answer.
    static let files = DispatchQueue(label: "gallery-files", qos: .utility, attributes: .concurrent)

    /// Returns what `body` returns or throws on a thread of the queue. It is called even if the task is cancelled before.
    ///
    /// - Parameter body: gets a flag that is set when the task is cancelled.
    func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable (Cancellation) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let cancellation = Cancellation()
        let result: Result<Value, Failure> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.async { continuation.resume(returning: Result { () throws(Failure) in try body(cancellation) }) }
            }
        } onCancel: {
            cancellation.cancel()
        }
        return try result.get()
    }
}
