internal import WebImage

/// Draws the pictures of a slot, plays those that move, and draws transitions from one to the next.
@MainActor final class PaintedSurface: ImageSurface {
    let layers = PaintableLayers()
    private weak var host: ViewHost?
    private var playback: AnimationPlayback?
    private var isVisible = false
    /// How and when animations play.
    var configuration = AnimationPlayer.Configuration() {
        didSet { playback?.player.configuration = configuration }
    }
    var autoplay = AnimationAutoplay.always
    var onEvent: (@MainActor (AnimationPlayer.Event) -> Void)?
    /// Called after another picture or placeholder was set.
    var onContentChange: (@MainActor () -> Void)?

    init(host: ViewHost?) { self.host = host }

    var player: AnimationPlayer? { playback?.player }

    func show(_ image: Image, beginning transition: ImageTransition?) {
        // A later version of what plays, with more frames: it plays on.
        if let playback, playback.continues(with: image) { return }
        playback = nil
        let content = PaintableContent.image(image)
        if let transition {
            layers.isRightToLeft = host?.isRightToLeft ?? false
            layers.begin(transition, to: content)
        } else {
            layers.show(content)
        }
        if image.animation != nil { play(image) }
        onContentChange?()
    }

    func refine(_ image: Image) {
        // Its own frame stays until the same one is there with more pixels.
        if let playback, image.animation != nil { return playback.goOver(to: image) }
        playback = nil
        layers.showFrame(.image(image))
        if image.animation != nil { play(image) }
        onContentChange?()
    }

    func show(_ placeholder: Placeholder?) {
        playback = nil
        layers.show(.placeholder(placeholder))
        onContentChange?()
    }

    func setProgress(_ progress: Double) { layers.setProgress(progress) }

    func visibilityDidChange(to isVisible: Bool) {
        self.isVisible = isVisible
        playback?.setVisible(isVisible)
    }

    private func play(_ image: Image) {
        let playback = AnimationPlayback(image, configuration: configuration, host: host) { [weak self] event, size in
            guard let self else { return }
            if case .frame(_, let pixels) = event { layers.showFrame(.frame(pixels, size: size)) }
            onEvent?(event)
        }
        self.playback = playback
        playback.setVisible(isVisible)
        switch autoplay {
        case .always: playback.player.play()
        case .whereAnimationsAreAllowed: if host?.allowsAnimations ?? true { playback.player.play() }
        case .never: break
        }
    }
}
