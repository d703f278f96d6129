internal import WebImage

extension Placeholder {
    /// What there is to draw for it: a picture or a colour; `nil` for nothing.
    ///
    /// - Parameter wish: what it stands in for; `nil` where no URL is set.
    @MainActor func resolved(for wish: ImageWish?) -> Placeholder? { self }
}
