internal import WebImageCore

/// A Swift task as a step of a job.
struct TaskStep: LoaderTask {
    private let task: Task<Void, Never>

    init(_ body: @escaping @Sendable () async -> Void) { task = Task { await body() } }

    func cancel() { task.cancel() }
}
