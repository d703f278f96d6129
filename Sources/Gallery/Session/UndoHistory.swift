/// What can be taken back, by its message's button or as the last of all.
///
/// Old steps go when there are many, or when what they keep is long.
@MainActor final class UndoHistory {
    /// Something that was done. It is taken back once.
    @MainActor final class Step {
        fileprivate let byteCount: Int
        fileprivate let body: @MainActor () -> Void
        /// Called when the step is taken back, or can no longer be.
        var onEnd: @MainActor () -> Void = {}

        fileprivate init(byteCount: Int, _ body: @escaping @MainActor () -> Void) {
            (self.byteCount, self.body) = (byteCount, body)
        }
    }

    private var steps: [Step] = []

    static let stepLimit = 20
    /// For what the steps keep, but for the last step.
    static let byteLimit = 1 << 30

    /// Adds a step that can be taken back.
    ///
    /// - Parameters:
    ///   - byteCount: the length of what the step keeps.
    ///   - body: takes it back.
    func add(byteCount: Int = 0, _ body: @escaping @MainActor () -> Void) -> Step {
        let step = Step(byteCount: byteCount, body)
        steps.append(step)
        while steps.count > 1,
            steps.count > Self.stepLimit || steps.reduce(0, { $0 + $1.byteCount }) > Self.byteLimit
        {
            steps.removeFirst().onEnd()
        }
        return step
    }

    /// Takes a step back, unless that was done.
    func undo(_ step: Step) {
        guard let index = steps.lastIndex(where: { $0 === step }) else { return }
        steps.remove(at: index)
        step.onEnd()
        step.body()
    }

    /// Takes the last step back; returns `false` if there is none.
    func undoLast() -> Bool {
        guard let last = steps.last else { return false }
        undo(last)
        return true
    }
}
