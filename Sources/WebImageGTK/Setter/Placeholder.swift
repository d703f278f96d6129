public import WebImage

/// What a view shows until its picture is there.
public enum Placeholder: Sendable {
    /// A picture, at its own proportions.
    case image(Image)
    /// One colour over the whole view.
    case color(Color)
}
