internal import CWebImageGTK
internal import WebImage

/// A transition under way: moves on from frame to frame, and tells its closures.
@MainActor final class TransitionRun {
    private let transition: ImageTransition
    private weak var slot: ImageSlot?
    private let show: @MainActor (_ progress: Double) -> Void
    private var startTime: gint64?
    private var isOver = false

    /// - Parameter show: draws, or asks to be drawn, at a progress from 0 to 1.
    init(_ transition: ImageTransition, in slot: ImageSlot?, show: @escaping @MainActor (_ progress: Double) -> Void) {
        self.transition = transition
        self.slot = slot
        self.show = show
    }

    /// - Parameter time: the frame's, in microseconds; the first frame begins it.
    /// - Returns: whether it goes on.
    func advance(to time: gint64) -> Bool {
        guard !isOver else { return false }
        let start = startTime ?? time
        startTime = start
        let part = transition.microseconds > 0 ? Double(time - start) / transition.microseconds : 1
        let progress = transition.timing.progress(at: part)
        show(progress)
        if let slot { transition.animate?(slot, progress) }
        guard part >= 1 else { return !isOver }
        end(isFinished: true)
        return false
    }

    /// Tells the end, once.
    func end(isFinished: Bool) {
        guard !isOver else { return }
        isOver = true
        if let slot { transition.complete?(slot, isFinished) }
    }
}
