internal import CWebImageGTK
internal import WebImage

/// The `GdkPaintable` a view keeps for life, written in Swift: pictures come and go inside it.
///
/// Giving a `GtkPicture` another paintable always lays the window out anew, even for a picture of the same size; this
/// one only asks to be drawn again, and for a new layout when its size did change.
@MainActor final class PicturePaintable {
    /// The `GdkPaintable`.
    let reference: ObjectReference
    /// The GObject owns it too, and draws with it for as long as anybody shows the paintable.
    private let layers = PaintableLayers()

    init() {
        reference = ObjectReference(owning: PaintableClass.makeInstance(with: layers))
    }

    /// Shows `content` from the next frame on.
    func show(_ content: PaintableContent) { replaceLayers(top: content, fade: nil) }

    /// Starts to fade from what is shown to `content`; ``setFadeProgress(_:)`` moves it on.
    func beginFade(to content: PaintableContent) {
        replaceLayers(top: content, fade: PaintableLayers.Fade(bottom: layers.top, progress: 0))
    }

    /// - Parameter progress: 0 shows the old content, 1 and more the new one and ends the fade.
    func setFadeProgress(_ progress: Double) {
        guard layers.fade != nil else { return }
        layers.fade?.progress = progress
        if progress >= 1 { layers.fade = nil }
        gdk_paintable_invalidate_contents(reference.pointer.opaque)
    }

    /// Whether a fade has begun and not ended.
    var isFading: Bool { layers.fade != nil }

    private func replaceLayers(top: PaintableContent, fade: PaintableLayers.Fade?) {
        let oldSize = layers.top.intrinsicSize
        layers.top = top
        layers.fade = fade
        if oldSize != top.intrinsicSize { gdk_paintable_invalidate_size(reference.pointer.opaque) }
        gdk_paintable_invalidate_contents(reference.pointer.opaque)
    }
}

/// What a paintable draws.
@MainActor final class PaintableLayers {
    /// What it shows, or fades to; its size is the paintable's.
    var top = PaintableContent.empty
    var fade: Fade?

    /// A cross-fade under way.
    struct Fade {
        var bottom: PaintableContent
        /// 0 to 1.
        var progress: Double
    }

    func snapshot(into snapshot: OpaquePointer, width: Double, height: Double) {
        guard let fade else {
            top.snapshot(into: snapshot, width: width, height: height)
            return
        }
        gtk_snapshot_push_cross_fade(snapshot, fade.progress)
        // The area has the new picture's proportions: the old one must not be squeezed into them.
        fade.bottom.snapshotCovering(into: snapshot, width: width, height: height)
        gtk_snapshot_pop(snapshot)
        top.snapshot(into: snapshot, width: width, height: height)
        gtk_snapshot_pop(snapshot)
    }
}
