internal import WebImage

extension Placeholder {
    /// What there is to draw for it: a picture or a colour; `nil` for nothing, as for a hash that is none.
    ///
    /// - Parameter wish: what it stands in for; `nil` where no URL is set.
    @MainActor func resolved(for wish: ImageWish?) -> Placeholder? {
        switch self {
        case .image, .color: return self
        case .blurHash, .thumbHash, .cachedVariant, .closure:
            let image =
                if let wish { try? image(for: wish.request, manager: wish.manager) } else { try? image() }
            return image.map(Placeholder.image)
        }
    }
}
