internal import WebImage

/// The place in a view where an ``ImageSetter`` puts its pictures.
@MainActor protocol ImageDisplay: AnyObject {
    /// Whether the user can see it, as far as the toolkit knows.
    var isOnScreen: Bool { get }

    /// Whether its view is on screen, though it may show another picture than this one.
    var isViewOnScreen: Bool { get }

    /// Whether pictures that can be had again are let go off screen.
    var releasesOffscreen: Bool { get }

    /// What takes the place of `.fadeIn`, if anything.
    var transition: ImageTransition? { get }

    /// `request` with the size to decode at, where the view knows better; `nil` while it does not know yet: it then calls
    /// ``ImageSetter/roomDidChange()``.
    func fitted(_ request: WebImageRequest) -> WebImageRequest?

    /// Calls `body` later if what it lies in is being scrolled.
    ///
    /// - Returns: `false` if it is not; then `body` is not called.
    func waitsForRest(_ body: @escaping @MainActor () -> Void) -> Bool

    /// Calls `body` at the end of the transition under way, however it ends.
    ///
    /// - Returns: `false` if there is none; then `body` is not called.
    func waitsForTransition(_ body: @escaping @MainActor @Sendable () -> Void) -> Bool

    /// Shows `image` in place of what is there.
    func show(_ image: Image, with transition: ImageTransition?)

    /// Shows `image`, the picture on display with more pixels or all its frames; an animation goes on where it is.
    func refine(_ image: Image)

    /// Shows `placeholder`, or nothing, in place of what is there.
    func show(_ placeholder: Placeholder?)

    /// Called after each change.
    func loadStateDidChange(to state: LoadState)
}
