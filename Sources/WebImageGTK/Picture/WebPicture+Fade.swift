internal import CWebImageGTK

extension WebPicture {
    /// The length of a fade in microseconds: 0.2 s, as in YYWebImage.
    static let fadeDuration: gint64 = 200_000

    /// Fades to `content` with the widget's frame clock.
    func fade(to content: PaintableContent) {
        endFade()
        paintable.beginFade(to: content)
        let timeline = FadeTimeline(paintable: paintable) { [weak self] in self?.fadeTickID = 0 }
        fadeTickID = gtk_widget_add_tick_callback(
            widget,
            { _, clock, data in
                guard let clock, let data else { return gboolean(0) }
                let timeline = Unmanaged<FadeTimeline>.fromOpaque(data)
                let time = gdk_frame_clock_get_frame_time(clock)
                return MainActor.assumeIsolated { timeline.takeUnretainedValue().advance(to: time) }
            }, Unmanaged.passRetained(timeline).toOpaque(),
            { data in if let data { Unmanaged<FadeTimeline>.fromOpaque(data).release() } })
    }

    /// Jumps to the end of the fade, if there is one. Tick callbacks go on while a widget is hidden, so this must come
    /// with the unmapping.
    func endFade() {
        if fadeTickID != 0 { gtk_widget_remove_tick_callback(widget, fadeTickID) }
        fadeTickID = 0
        paintable.setFadeProgress(1)
    }

    /// The user's wish in the desktop's settings.
    var allowsAnimations: Bool {
        var value = GValue()
        g_object_get_property(ObjectPointer(gtk_widget_get_settings(widget)).object, "gtk-enable-animations", &value)
        defer { g_value_unset(&value) }
        return g_value_get_boolean(&value) != 0
    }
}

/// Moves a fade on from frame to frame.
@MainActor final class FadeTimeline {
    private let paintable: PicturePaintable
    private let whenDone: @MainActor () -> Void
    private var startTime: gint64?

    init(paintable: PicturePaintable, whenDone: @escaping @MainActor () -> Void) {
        self.paintable = paintable
        self.whenDone = whenDone
    }

    /// - Parameter time: the frame's, in microseconds; the first frame begins the fade.
    /// - Returns: non-zero while the fade goes on.
    func advance(to time: gint64) -> gboolean {
        let start = startTime ?? time
        startTime = start
        let progress = Double(time - start) / Double(WebPicture.fadeDuration)
        paintable.setFadeProgress(progress)
        guard progress >= 1 else { return gboolean(1) }
        whenDone()
        return gboolean(0)
    }
}
