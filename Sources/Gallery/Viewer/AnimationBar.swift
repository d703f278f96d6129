import CWebImageGTK
import WebImageGTK

/// The controls of an animation: play, step, scrub, rate.
@MainActor final class AnimationBar {
    let widget: ObjectPointer
    private let playButton = ObjectPointer.iconButton("media-playback-start-symbolic", "Play")
    private let slider = ObjectPointer(gtk_scale_new(GTK_ORIENTATION_HORIZONTAL, nil))
    private let label = ObjectPointer.label("", "numeric", "dim-label")
    private let rateMenu: ObjectPointer
    private var picture: WebPaintable?
    private var frameCount = 0
    private var shownStatus: Bool?

    static let rates = [0.25, 0.5, 1, 1.5, 2, 4]

    init() {
        let names = ObjectPointer(gtk_string_list_new(nil))
        for rate in Self.rates { gtk_string_list_append(names.opaque, Self.name(of: rate)) }
        rateMenu = ObjectPointer(gtk_drop_down_new(names.opaque, nil))
        rateMenu.named("Rate").style("flat").set("selected", Self.rates.firstIndex(of: 1) ?? 0)
        let back = ObjectPointer.iconButton("media-skip-backward-symbolic", "Previous frame")
        let forward = ObjectPointer.iconButton("media-skip-forward-symbolic", "Next frame")
        gtk_scale_set_draw_value(slider.as(), 0)
        slider.expanding(vertically: false).setAccessibleLabel("Frame")
        label.set("wrap", false).set("margin-start", 6)
        let buttons = ObjectPointer(gtk_center_box_new())
        gtk_center_box_set_start_widget(buttons.opaque, label.widget)
        gtk_center_box_set_center_widget(
            buttons.opaque, ObjectPointer.row(spacing: 4, [back, playButton, forward]).widget)
        gtk_center_box_set_end_widget(buttons.opaque, rateMenu.widget)
        widget = .column([slider, buttons]).margins(horizontal: 6).set("margin-bottom", 6)
        widget.isVisible = false

        for button in [back, playButton, forward] { button.style("flat") }
        playButton.onSignal("clicked") { [weak self] in self?.togglePlay() }
        back.onSignal("clicked") { [weak self] in self?.step(by: -1) }
        forward.onSignal("clicked") { [weak self] in self?.step(by: 1) }
        slider.onValueChange { [weak self] in self?.scrub(to: Int($0.rounded())) }
        rateMenu.onChange(of: "selected") { [weak self] in self?.rateDidChange() }
    }

    private static func name(of rate: Double) -> String {
        let text = rate == rate.rounded() ? "\(Int(rate))" : "\(rate)"
        return "\(text)×"
    }

    // MARK: Image

    /// Shows the controls if the image is an animation.
    func show(_ picture: WebPaintable?) {
        self.picture = picture
        guard let picture, let player = picture.player, let image = picture.image, image.frameCount > 1 else {
            widget.isVisible = false
            return
        }
        if picture.playback.rate != rate { picture.playback.rate = rate }
        frameCount = image.frameCount
        gtk_range_set_range(slider.as(), 0, Double(frameCount - 1))
        gtk_range_set_increments(slider.as(), 1, max(1, Double(frameCount / 10)))
        label.set("width-chars", "\(frameCount) / \(frameCount)".count)
        widget.isVisible = true
        update(frame: player.currentFrameIndex)
    }

    /// Follows the player.
    func handle(_ event: AnimationPlayer.Event) {
        switch event {
        case .frame(let index, _): update(frame: index)
        case .finished: update(frame: player?.currentFrameIndex ?? 0)
        case .loopEnded, .frameFailed: break
        }
    }

    var player: AnimationPlayer? { widget.isVisible ? picture?.player : nil }

    private func update(frame: Int) {
        gtk_range_set_value(slider.as(), Double(frame))
        gtk_label_set_text(label.opaque, "\(frame + 1) / \(frameCount)")
        updatePlayButton()
    }

    private func updatePlayButton() {
        let isPlaying = player?.isPlaying == true
        guard isPlaying != shownStatus else { return }
        shownStatus = isPlaying
        playButton.set("icon-name", isPlaying ? "media-playback-pause-symbolic" : "media-playback-start-symbolic")
            .named(isPlaying ? "Pause" : "Play")
    }

    // MARK: Control

    func togglePlay() {
        guard let player else { return }
        if player.isPlaying { player.pause() } else { player.play() }
        updatePlayButton()
    }

    /// Pauses, and shows another frame; after the last one the first.
    func step(by count: Int) {
        guard let player, frameCount > 0 else { return }
        scrub(to: ((player.currentFrameIndex + count) % frameCount + frameCount) % frameCount)
    }

    /// Pauses, and shows a frame.
    func scrub(to frame: Int) {
        guard let player else { return }
        player.pause()
        player.seek(toFrame: min(max(frame, 0), frameCount - 1))
        updatePlayButton()
    }

    /// The rate of all animations.
    var rate: Double {
        let index = Int(gtk_drop_down_get_selected(rateMenu.opaque))
        return Self.rates.indices.contains(index) ? Self.rates[index] : 1
    }

    /// Chooses the next higher or lower rate.
    func changeRate(by step: Int) {
        let index = Int(gtk_drop_down_get_selected(rateMenu.opaque)) + step
        guard player != nil, Self.rates.indices.contains(index) else { return }
        gtk_drop_down_set_selected(rateMenu.opaque, guint(index))
    }

    private func rateDidChange() { picture?.playback.rate = rate }
}
