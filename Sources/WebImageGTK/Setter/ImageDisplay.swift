internal import WebImage

/// The place in a view where an ``ImageSetter`` puts its pictures.
@MainActor protocol ImageDisplay: AnyObject {
    /// Whether the user can see it, as far as the toolkit knows.
    var isOnScreen: Bool { get }

    /// Shows `image` in place of what is there.
    ///
    /// - Parameter isFading: whether the change may take its time.
    func show(_ image: Image, isFading: Bool)

    /// Shows `placeholder`, or nothing, in place of what is there.
    func show(_ placeholder: Placeholder?)

    /// Called after each change.
    func loadStateDidChange(to state: LoadState)
}
