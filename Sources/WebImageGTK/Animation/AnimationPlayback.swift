internal import WebImage

/// An animation on display: its player, and the clock of the view it is in.
@MainActor final class AnimationPlayback {
    let player: AnimationPlayer
    private let clock: ViewAnimationClock
    /// In points, the same for all frames.
    private var size: PointSize

    /// - Parameter receive: gets what the player tells, on main, with the size of frames in points.
    init(
        _ image: Image, configuration: AnimationPlayer.Configuration, host: ViewHost?,
        receive: @escaping @MainActor (AnimationPlayer.Event, PointSize) -> Void
    ) {
        clock = ViewAnimationClock(host: host)
        size = image.size
        player = AnimationPlayer(AnimatedImage(image), configuration: configuration, clock: clock)
        player.isVisible = false
        player.onEvent = { [weak self] event in
            MainActor.assumeIsolated {
                guard let self else { return }
                receive(event, self.size)
            }
        }
    }

    /// Nothing is told after the end: what replaces it may be on display already.
    isolated deinit { player.onEvent = nil }

    /// Goes over to `image` if that is the same animation with more of its frames, and plays on.
    func continues(with image: Image) -> Bool {
        guard let source = image.animation, source.identity == player.image.source.identity else { return false }
        goOver(to: image)
        return true
    }

    /// Goes over to `image`, the same animation with more of its frames or with other pixels, and plays on where it is.
    func goOver(to image: Image) {
        size = image.size
        player.update(to: AnimatedImage(image))
    }

    func setVisible(_ isVisible: Bool) {
        player.isVisible = isVisible
        clock.visibilityDidChange()
    }
}
