import CWebImageGTK
import FoundationEssentials
import WebImageGTK

/// Animations of every kind. A click plays or pauses an animation, and the slider below it selects a frame.
@MainActor final class AnimationsPage: GalleryPage {
    let widget: ObjectPointer
    private var pictures: [WebPicture] = []

    init(session: GallerySession) throws(WebImageError) {
        let manager = session.manager
        let (grid, attach) = Self.makeGrid()
        widget = .scrolling(ObjectPointer(grid))
        let files: [(ImageFormat, String)] = [(.gif, "GIF"), (.png, "APNG"), (.webp, "WebP")]
        let day = try Samples.day()
        for (column, (format, name)) in files.enumerated() {
            let picture = makePicture()
            picture.setImage(try Samples.animation(of: day, format), manager: manager)
            attach(cell(picture, name), column, 0)
        }
        let (sequence, sheet) = (makePicture(), makePicture())
        sequence.setImage(try Samples.frameSequence().image)
        attach(cell(sequence, "JPEG sequence, back and forth"), 0, 1)
        sequence.playback.mode = .bounce
        sheet.setImage(try Samples.spriteSheet().image)
        attach(cell(sheet, "Sprite sheet, reversed"), 1, 1)
        sheet.playback.mode = .reverse
    }

    private func makePicture() -> WebPicture {
        let picture = WebPicture()
        gtk_widget_set_size_request(picture.widget, 240, 160)
        pictures.append(picture)
        picture.togglesWhenClicked()
        return picture
    }

    private func cell(_ picture: WebPicture, _ name: String) -> UnsafeMutablePointer<GtkWidget>? {
        let cell = Self.captioned(picture.widget, name)
        guard let scale = gtk_scale_new_with_range(GTK_ORIENTATION_HORIZONTAL, 0, Double(Samples.frameCount - 1), 1)
        else { return cell }
        let range = ObjectPointer(scale)
        gtk_scale_set_draw_value(range.address.assumingMemoryBound(to: GtkScale.self), gboolean(0))
        let adjustment = ObjectPointer(
            gtk_range_get_adjustment(range.address.assumingMemoryBound(to: GtkRange.self)))
        adjustment.onSignal("value-changed") { [weak picture] in
            picture?.player?.pause()
            picture?.player?.seek(
                toFrame: Int(
                    gtk_adjustment_get_value(adjustment.address.assumingMemoryBound(to: GtkAdjustment.self))))
        }
        gtk_box_append(cell.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: GtkBox.self) }, scale)
        return cell
    }

    /// Whether each animation shows a frame after the fifth or has failed. The first frames show little.
    var isSettled: Bool { pictures.allSatisfy { ($0.player?.currentFrameIndex ?? 0) >= 5 || $0.loadState.isFailed } }
    var isComplete: Bool { pictures.allSatisfy { $0.player != nil } }
}

extension LoadState {
    fileprivate var isFailed: Bool { if case .failed = self { true } else { false } }
}

extension WebPicture {
    /// Plays or pauses the animation after each click.
    fileprivate func togglesWhenClicked() {
        let released: @convention(c) (gpointer, gint, Double, Double, gpointer) -> Void = { _, _, _, _, data in
            nonisolated(unsafe) let data = data
            MainActor.assumeIsolated {
                let picture = Unmanaged<WebPicture>.fromOpaque(data).takeUnretainedValue()
                if picture.player?.isPlaying == true { picture.player?.pause() } else { picture.player?.play() }
            }
        }
        // The widget owns both. The gesture is released before the picture.
        let click = ObjectPointer(gtk_gesture_click_new())
        g_signal_connect_data(
            click.address, "released", unsafeBitCast(released, to: GCallback.self),
            Unmanaged.passUnretained(self).toOpaque(), nil, GConnectFlags(rawValue: 0))
        gtk_widget_add_controller(widget, click.opaque)
    }
}
