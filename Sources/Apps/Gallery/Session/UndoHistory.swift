import FoundationEssentials

/// The steps that can be taken back, by a message's button or as the last of all.
///
/// Old steps go when there are many, or when what they keep is long.
@MainActor final class UndoHistory {
    /// Something that was done. It is taken back once.
    @MainActor final class Step {
        fileprivate let files: [URL]
        fileprivate let byteCount: Int
        fileprivate let body: @MainActor () async -> String?
        fileprivate var isInProgress = false
        /// Called when the step is taken back, or can no longer be.
        var onEnd: @MainActor () -> Void = {}

        fileprivate init(_ files: [URL], byteCount: Int, _ body: @escaping @MainActor () async -> String?) {
            (self.files, self.byteCount, self.body) = (files, byteCount, body)
        }

        fileprivate func end() {
            let onEnd = onEnd
            self.onEnd = {}
            onEnd()
        }
    }

    /// Called when a step is not taken back, or not all of it: with the reason, for users. The step stays in its place.
    var onFailure: @MainActor (_ step: Step, _ reason: String) -> Void = { _, _ in }

    private let changes: FileChangeQueue
    private var steps: [Step] = []

    static let stepLimit = 20
    /// For what the steps keep, but for the last step.
    static let byteLimit = 1 << 30

    /// - Parameter changes: what steps are taken back among.
    init(_ changes: FileChangeQueue) { self.changes = changes }

    /// Adds a step that can be taken back.
    ///
    /// - Parameters:
    ///   - files: those that taking it back changes.
    ///   - byteCount: the length of what the step keeps.
    ///   - body: takes it back, or what is left of it after a failure. Returns why something is left that can be tried
    ///     again, for users.
    func add(of files: [URL] = [], byteCount: Int = 0, _ body: @escaping @MainActor () async -> String?) -> Step {
        let step = Step(files, byteCount: byteCount, body)
        steps.append(step)
        while steps.count > 1,
            steps.count > Self.stepLimit || steps.reduce(0, { $0 + $1.byteCount }) > Self.byteLimit
        {
            steps.removeFirst().end()
        }
        return step
    }

    /// Takes a step back after the changes before, unless that was done.
    func undo(_ step: Step) {
        guard !step.isInProgress, contains(step) else { return }
        step.isInProgress = true
        step.end()
        changes.run(step.files) { [self] in
            let failure = await step.body()
            step.isInProgress = false
            guard let failure else { return forget(step) }
            if contains(step) { onFailure(step, failure) }
        }
    }

    /// Takes the last step back; returns `false` without one.
    func undoLast() -> Bool {
        guard let last = steps.last(where: { !$0.isInProgress }) else { return false }
        undo(last)
        return true
    }

    /// Removes a step that need not be taken back.
    func forget(_ step: Step) {
        steps.removeAll { $0 === step }
        step.end()
    }

    private func contains(_ step: Step) -> Bool { steps.contains { $0 === step } }
}
