internal import CWebImageGTK
internal import WebImage

/// What a slot draws: its content, what that takes the place of during a transition, and an indicator above.
@MainActor final class PaintableLayers {
    /// Who draws it now; a slot that is not the one on show has none.
    weak var paintable: PicturePaintable?
    /// Draws above everything else while it is there.
    var indicator: ((_ snapshot: OpaquePointer, _ width: Double, _ height: Double) -> Void)? {
        didSet { paintable?.invalidateContents() }
    }
    /// How pictures lie in the area; `nil` where whoever draws the paintable gives it the right proportions.
    var contentMode: ImageContentMode? {
        didSet { if contentMode != oldValue { paintable?.invalidateContents() } }
    }
    var isRightToLeft = false

    /// What it shows, or goes over to; its size is the paintable's.
    private(set) var top = PaintableContent.empty
    private var transition: Transition?

    private struct Transition {
        let effect: ImageTransition
        let old: PaintableContent
        var progress: Double
    }

    /// Shows `content` from the next frame on.
    func show(_ content: PaintableContent) { replace(with: content, nil) }

    /// Puts the next frame in place of the one before, also in the middle of a transition.
    func showFrame(_ content: PaintableContent) { replace(with: content, transition) }

    /// Starts to go over from what is shown to `content`; ``setProgress(_:)`` moves it on.
    func begin(_ effect: ImageTransition, to content: PaintableContent) {
        replace(with: content, Transition(effect: effect, old: top, progress: 0))
    }

    /// - Parameter progress: 0 shows the old content, 1 and more the new one and ends the transition.
    func setProgress(_ progress: Double) {
        guard transition != nil else { return }
        transition?.progress = progress
        if progress >= 1 { transition = nil }
        paintable?.invalidateContents()
    }

    /// Whether a transition has begun and not ended.
    var isInTransition: Bool { transition != nil }

    private func replace(with content: PaintableContent, _ transition: Transition?) {
        let oldSize = top.intrinsicSize
        top = content
        self.transition = transition
        if oldSize != top.intrinsicSize { paintable?.invalidateSize() }
        paintable?.invalidateContents()
    }

    func snapshot(into snapshot: OpaquePointer, width: Double, height: Double) {
        if let transition {
            transition.effect.draw(
                TransitionFrame(
                    snapshot: snapshot, width: width, height: height, progress: transition.progress,
                    isRightToLeft: isRightToLeft, old: transition.old, new: top, contentMode: contentMode))
        } else {
            top.snapshot(into: snapshot, width: width, height: height, mode: contentMode ?? .scaleToFill)
        }
        indicator?(snapshot, width, height)
    }
}
