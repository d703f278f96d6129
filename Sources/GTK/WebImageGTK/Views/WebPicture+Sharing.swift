internal import CWebImageGTK
internal import Dispatch
public import FoundationEssentials
internal import GTKObjects
internal import Glibc
public import WebImage

/// Reads what is on display, for the clipboard, files and other programs.
extension WebPicture {
    /// What is on display: a `GdkTexture` of the image, or of the frame of an animation; `nil` while there is none or only a placeholder.
    ///
    /// It changes with ``ImageSlotOwner/loadState``, and with each frame of an animation. It is valid until then: callers that store it must
    /// retain it.
    public var paintable: OpaquePointer? { shownImage.map { Texture.of($0.pixels).pointer.opaque } }

    /// The image, or the frame of an animation.
    private var shownImage: Image? { player?.currentFrame.map { Image(pixels: $0) } ?? image }

    /// Copies what is on display to the clipboard, with the location of the image.
    ///
    /// - Returns: `false` while there is no image.
    @discardableResult public func copyImage() -> Bool {
        guard let content = makeContent() else { return false }
        defer { g_object_unref(UnsafeMutableRawPointer(content)) }
        return gdk_clipboard_set_content(gtk_widget_get_clipboard(widget), content) != 0
    }

    /// Writes what is on display to a file as PNG. The file is replaced once all is written. `data(for:)` of the manager has the original bytes
    /// instead.
    ///
    /// - Returns: `false` while there is no image.
    /// - Throws: ``WebImage/WebImageError/file(path:errno:)`` if the file cannot be written, and the errors of encoding.
    @discardableResult public func saveImage(to file: URL) async throws(WebImageError) -> Bool {
        guard let image = shownImage else { return false }
        let result: Result<Void, WebImageError> = await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .utility).async {
                continuation.resume(
                    returning: Result { () throws(WebImageError) in
                        let data = try CodecRegistry.shared.encode(Image(pixels: image.pixels), as: .png)
                        try data.write(atomically: file)
                    })
            }
        }
        try result.get()
        return true
    }

    /// Whether the mouse drags the image to other programs, as pixels and as its location; `false` by default.
    public var isDraggable: Bool {
        get { Self.dragKey.value(of: ObjectPointer(widget)) != nil }
        set {
            guard newValue != isDraggable else { return }
            let former = Self.dragKey.value(of: ObjectPointer(widget))
            if let former { gtk_widget_remove_controller(widget, former.pointer.opaque) }
            Self.dragKey.set(newValue ? makeDragSource() : nil, on: ObjectPointer(widget))
        }
    }

    private static let dragKey = AssociationKey<ObjectReference>("web-image-drag-source")

    private func makeDragSource() -> ObjectReference {
        let source = ObjectPointer(gtk_drag_source_new())
        gtk_drag_source_set_actions(source.opaque, GDK_ACTION_COPY)
        source.onPrepare { [weak self] in
            guard let self, let content = makeContent() else { return nil }
            if let icon = makeDragIcon() {
                gtk_drag_source_set_icon(source.opaque, icon, 0, 0)
                g_object_unref(UnsafeMutableRawPointer(icon))
            }
            return content
        }
        let reference = ObjectReference(retaining: source)
        gtk_widget_add_controller(widget, source.opaque)
        return reference
    }

    /// Returns what the widget shows, with a longest side of 128 points. The caller owns it.
    private func makeDragIcon() -> OpaquePointer? {
        let (width, height) = (Double(gtk_widget_get_width(widget)), Double(gtk_widget_get_height(widget)))
        guard width > 0, height > 0, let snapshot = gtk_snapshot_new() else { return nil }
        let scale = min(1, 128 / max(width, height))
        var area = graphene_rect_t(width: width * scale, height: height * scale)
        gtk_snapshot_push_clip(snapshot, &area)
        let layout = SlotPainter.Layout(mode: contentMode, focus: focus)
        imageSlot.painter.top.snapshot(into: snapshot, width: width * scale, height: height * scale, layout)
        gtk_snapshot_pop(snapshot)
        return gtk_snapshot_free_to_paintable(snapshot, &area.size)
    }

    private func makeContent() -> UnsafeMutablePointer<GdkContentProvider>? {
        shownImage?.makeContentProvider(location: imageURL)
    }
}

extension Data {
    /// Writes a file, which is replaced once all is written.
    fileprivate func write(atomically file: URL) throws(WebImageError) {
        do {
            try write(to: file, options: .atomic)
        } catch {
            let system = (error as? CocoaError)?.userInfo["NSUnderlyingError"] as? POSIXError
            throw .file(path: file.path(percentEncoded: false), errno: system?.code.rawValue ?? EIO)
        }
    }
}
