/// When the animations of a slot begin by themselves.
public enum AnimationAutoplay: String, Sendable, Hashable, CaseIterable {
    /// As soon as they are on screen: the default, as in YYImage and SDWebImage.
    case always
    /// As soon as they are on screen, where the user wants animations (`gtk-enable-animations`).
    case whereAnimationsAreAllowed
    /// Not before ``ImageSlotOwner/play()``.
    case never
}
