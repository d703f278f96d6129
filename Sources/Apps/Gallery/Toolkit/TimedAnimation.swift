import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

/// A number that goes from 0 to 1 within a time. It is at 1 at once if the user has turned animations off, or the
/// widget is out of sight.
@MainActor final class TimedAnimation {
    private let animation: ObjectPointer

    /// Starts the animation.
    ///
    /// - Parameters:
    ///   - body: gets the number, for each frame. The last one is 1, unless the animation is released before.
    ///   - completion: called after the last number.
    init(
        on widget: ObjectPointer, milliseconds: Int, _ body: @escaping @MainActor (_ progress: Double) -> Void,
        completion: @escaping @MainActor () -> Void = {}
    ) {
        let handler = Unmanaged.passRetained(SignalHandler(body)).toOpaque()
        let target = adw_callback_animation_target_new(
            { value, data in
                guard let data else { return }
                SignalHandler<@MainActor (Double) -> Void>.with(data) { $0(value) }
            }, handler, { data in if let data { Unmanaged<AnyObject>.fromOpaque(data).release() } })
        animation = ObjectPointer(
            adw_timed_animation_new(widget.widget, 0, 1, guint(milliseconds), target))
        animation.onSignal("done", completion)
    }

    func play() { adw_animation_play(animation.as()) }

    isolated deinit {
        adw_animation_pause(animation.as())
        g_object_unref(animation.address)
    }
}
