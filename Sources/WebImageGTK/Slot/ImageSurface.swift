internal import WebImage

/// Where the pictures of an ``ImageSlot`` are to be seen.
@MainActor protocol ImageSurface: AnyObject {
    /// Shows `image`, beginning with the first frame of `transition`.
    func show(_ image: Image, beginning transition: ImageTransition?)

    /// Shows `image` in place of the same picture with fewer pixels or frames; an animation goes on where it is.
    func refine(_ image: Image)

    /// Shows `placeholder`, or nothing.
    func show(_ placeholder: Placeholder?)

    /// Moves the transition on; 1 ends it.
    func setProgress(_ progress: Double)

    /// The slot can be seen now, or can't any more: nothing may run then.
    func visibilityDidChange(to isVisible: Bool)

    /// What plays there; `nil` for stills, and where animations are not played.
    var player: AnimationPlayer? { get }
}

extension ImageSurface {
    func refine(_ image: Image) { show(image, beginning: nil) }
    func setProgress(_ progress: Double) {}
    func visibilityDidChange(to isVisible: Bool) {}
    var player: AnimationPlayer? { nil }
}

/// Hands pictures to a closure: for widgets that show them in their own way.
@MainActor final class ClosureSurface: ImageSurface {
    private let setContent: @MainActor (SlotContent) -> Void

    init(_ setContent: @escaping @MainActor (SlotContent) -> Void) { self.setContent = setContent }

    func show(_ image: Image, beginning transition: ImageTransition?) { setContent(.image(image)) }

    func show(_ placeholder: Placeholder?) { setContent(placeholder.map(SlotContent.placeholder) ?? .empty) }
}
