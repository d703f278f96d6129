import CWebImageGTK
import GTKObjects
import WebImageGTK

/// The controls of an animation: play, step, scrub, rate. Without an animation they are insensitive.
@MainActor final class AnimationControls {
    let widget: ObjectPointer
    let slider = ObjectPointer(gtk_scale_new(GTK_ORIENTATION_HORIZONTAL, nil))
    let rateMenu: ObjectPointer
    private let playButton = ObjectPointer.iconButton("media-playback-start-symbolic", localized("Play"))
    private let label = ObjectPointer.label("", "numeric", "dim-label")
    private var picture: (any ImageSlotOwner)?
    private var frameCount = 0

    static let rates = [0.25, 0.5, 1, 1.5, 2, 4]

    /// - Parameter subject: what is controlled, where there are several animations.
    init(of subject: String? = nil) {
        let values = ["subject": subject ?? ""]
        let rateName = subject == nil ? localized("Rate") : localized("Rate of {subject}", values)
        rateMenu = .dropDown(Self.rates.map(Self.title), rateName)
        rateMenu.named(rateName).set("selected", Self.rates.firstIndex(of: 1) ?? 0)
        let back = ObjectPointer.iconButton("media-skip-backward-symbolic", localized("Previous frame"))
        let forward = ObjectPointer.iconButton("media-skip-forward-symbolic", localized("Next frame"))
        gtk_scale_set_draw_value(slider.as(), 0)
        slider.expanding(vertically: false).setAccessibleLabel(
            subject == nil ? localized("Frame") : localized("Frame of {subject}", values))
        label.set("wrap", false).set("margin-start", 6)
        let buttons = ObjectPointer(gtk_center_box_new())
        gtk_center_box_set_start_widget(buttons.opaque, label.widget)
        gtk_center_box_set_center_widget(
            buttons.opaque, ObjectPointer.row(spacing: 4, [back, playButton, forward]).widget)
        gtk_center_box_set_end_widget(buttons.opaque, rateMenu.widget)
        widget = .column([slider, buttons]).set("sensitive", false)

        for control in [back, playButton, forward, rateMenu] { control.style("flat") }
        playButton.onSignal("clicked") { [weak self] in self?.togglePlay() }
        back.onSignal("clicked") { [weak self] in self?.step(by: -1) }
        forward.onSignal("clicked") { [weak self] in self?.step(by: 1) }
        slider.onValueChange { [weak self] in self?.scrub(to: Int($0.rounded())) }
        rateMenu.onChange(of: "selected") { [weak self] in
            guard let self else { return }
            picture?.playback.rate = rate
        }
    }

    private static func title(of rate: Double) -> String {
        rate == rate.rounded() ? "\(Int(rate))×" : "\(rate)×"
    }

    // MARK: Image

    /// Controls and follows the animation of an image, if it is one, in place of the former.
    func show(_ new: (any ImageSlotOwner)?) {
        if picture !== new {
            picture?.onAnimationEvent = nil
            picture = new
            new?.onAnimationEvent = { [weak self] in self?.handle($0) }
        }
        frameCount = new?.player == nil ? 0 : new?.image?.frameCount ?? 0
        widget.set("sensitive", player != nil)
        guard let new, let player else { return }
        if new.playback.rate != rate { new.playback.rate = rate }
        gtk_range_set_range(slider.as(), 0, Double(frameCount - 1))
        gtk_range_set_increments(slider.as(), 1, max(1, Double(frameCount / 10)))
        label.set("width-chars", "\(frameCount) / \(frameCount)".count)
        update(frame: player.currentFrameIndex)
    }

    /// The player of the animation; `nil` without one.
    var player: AnimationPlayer? { frameCount > 1 ? picture?.player : nil }

    private func handle(_ event: AnimationPlayer.Event) {
        switch event {
        case .frame(let index, _): update(frame: index)
        case .finished: updatePlayButton()
        case .loopEnded, .frameFailed: break
        }
    }

    private func update(frame: Int) {
        gtk_range_set_value(slider.as(), Double(frame))
        label.text = "\(frame + 1) / \(frameCount)"
        updatePlayButton()
    }

    private func updatePlayButton() {
        let isPlaying = player?.isPlaying == true
        let icon = isPlaying ? "media-playback-pause-symbolic" : "media-playback-start-symbolic"
        guard playButton.get("icon-name", as: String.self) != icon else { return }
        playButton.set("icon-name", icon).named(isPlaying ? localized("Pause") : localized("Play"))
    }

    // MARK: Control

    func togglePlay() {
        guard let player else { return }
        if player.isPlaying { player.pause() } else { player.play() }
        updatePlayButton()
    }

    /// Pauses, and shows another frame; after the last one the first.
    func step(by count: Int) {
        guard let player else { return }
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
        let index = rateMenu.get("selected", as: Int.self)
        return Self.rates.indices.contains(index) ? Self.rates[index] : 1
    }

    /// Chooses the next higher or lower rate.
    func changeRate(by step: Int) {
        let index = rateMenu.get("selected", as: Int.self) + step
        if player != nil, Self.rates.indices.contains(index) { rateMenu.set("selected", index) }
    }
}
