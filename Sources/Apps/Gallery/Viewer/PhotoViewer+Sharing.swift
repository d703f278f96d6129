import CWebImageAdwaita
import CWebImageGTK
import FoundationEssentials
import GTKObjects
import WebImageGTK

/// Images that leave the viewer: to files, the clipboard, other programs.
extension PhotoViewer {
    private var root: ObjectPointer? { gtk_widget_get_root(widget.widget).map { ObjectPointer($0) } }

    // MARK: Files

    /// Asks how and where to save the image, rotated as it is on screen.
    ///
    /// - Parameter crop: the part to keep of the rotated image; `nil` for all.
    func saveAs(crop: PixelRect? = nil) {
        guard let url = currentURL, let root else { return }
        let preview = canvas.makePaintable(maximumSide: 320, crop: crop).map { ObjectPointer($0) }
        defer { if let preview { g_object_unref(preview.address) } }
        let dialog = SaveDialog(
            url, original: canvas.image?.format, quarterTurns: canvas.quarterTurns, crop: crop,
            preview: preview, over: root
        ) { [weak self] export, file in
            self?.save(url, as: export, to: file)
        }
        dialog.present()
    }

    /// Saves an image, and says what has happened. The program runs until then, although its window may be closed.
    func save(_ url: URL, as export: PhotoExport, to file: URL) {
        let application = g_application_get_default().map { ObjectPointer($0) }
        if let application {
            g_object_ref(application.address)
            g_application_hold(application.as())
        }
        savingBar.show(file.displayName) { [session] in
            defer {
                if let application {
                    g_application_release(application.as())
                    g_object_unref(application.address)
                }
            }
            do throws(PhotoExport.Failure) {
                try await export.write(url, to: file, manager: session.manager)
                session.showToast(localized("Saved as {file}", ["file": file.displayName]))
            } catch .image(.cancelled) {
                session.showToast(localized("{file} was not saved", ["file": file.displayName]))
            } catch {
                session.showToast(
                    localized("{file} cannot be saved: {error}", ["file": file.displayName, "error": error]))
            }
        }
    }

    // MARK: Clipboard

    /// Copies the image, rotated as it is on screen, with its location.
    func copyImage() async {
        guard let url = currentURL else { return }
        do {
            let image = try await fullImage(of: url)
            guard currentURL == url else { return }
            let content = image.makeContentProvider(location: url)
            gdk_clipboard_set_content(gtk_widget_get_clipboard(widget.widget), content)
            content.map { g_object_unref($0) }
            session.showToast(localized("Image copied"))
        } catch {
            session.showToast(localized("The image cannot be copied: {error}", ["error": error.userDescription]))
        }
    }

    /// Returns the image, or the frame of an animation, as it is on screen: rotated, with as many pixels as the viewer shows when it is
    /// zoomed in.
    private func fullImage(of url: URL) async throws(WebImageError) -> Image {
        var image: Image
        if let frame = canvas.player?.currentFrame {
            image = Image(pixels: frame)
        } else {
            var request = WebImageRequest(url, options: [.avoidForcedDecode, .firstFrameOnly], priority: .high)
            request.decodedByteLimit = canvas.pixelByteLimit
            request.keepsPixels = false
            image = try await session.manager.image(for: request.forOwnFiles)
        }
        let turns = canvas.quarterTurns
        guard turns != 0 else { return image }
        return try await image.processed(by: [.rotate(degrees: Double(turns * 90))])
    }

    // MARK: Printer

    func printImage() async {
        guard let url = currentURL else { return }
        let image: Image
        do { image = try await fullImage(of: url) } catch {
            return session.showToast(
                localized("The image cannot be printed: {error}", ["error": error.userDescription]))
        }
        // The window may be closed meanwhile.
        guard currentURL == url, let root else { return }
        PhotoPrint(image: image, title: url.displayName).run(over: root) { [session] failure in
            if let failure { session.showToast(localized("The image was not printed: {error}", ["error": failure])) }
        }
    }

    func copyLink() {
        guard let url = currentURL else { return }
        // A text cannot have a path that is not UTF-8.
        let path = url.isFileURL ? url.filePath.text : nil
        Clipboard.copy(path ?? url.absoluteString, of: widget)
        session.showToast(path == nil ? localized("Link copied") : localized("Path copied"))
    }

    // MARK: Drag

    /// Lets the mouse drag a fitted image out of the window. One that is zoomed in moves instead.
    func addDragSource() {
        let source = ObjectPointer(gtk_drag_source_new())
        gtk_drag_source_set_actions(source.opaque, GDK_ACTION_COPY)
        source.onPrepare { [weak self] in
            guard let self, let url = currentURL, let image = canvas.image,
                !canvas.canPan, !source.isTouchEvent
            else { return nil }
            setDragIcon(of: source)
            return image.makeContentProvider(location: url)
        }
        gtk_widget_add_controller(canvas.widget, source.opaque)
    }

    private func setDragIcon(of source: ObjectPointer) {
        guard let icon = canvas.makePaintable(maximumSide: 128) else { return }
        gtk_drag_source_set_icon(source.opaque, icon, 0, 0)
        g_object_unref(ObjectPointer(icon).address)
    }

    // MARK: Programs

    /// Lets the user choose a program for a file. Opens the web browser for other locations.
    func openWith() {
        guard let url = currentURL, let root else { return }
        guard url.isFileURL else { return launchDefault(url) }
        let file = ObjectPointer(url.filePath.withCString { g_file_new_for_path($0) })
        defer { g_object_unref(file.address) }
        let dialog = ObjectPointer(web_image_app_chooser_new(root.as(), file.opaque))
        gtk_window_set_title(dialog.as(), localized("Open with"))
        dialog.onResponse { [weak self] response in
            if response == Int(GTK_RESPONSE_OK.rawValue), let app = web_image_app_chooser_get_app(dialog.widget) {
                self?.launch(ObjectPointer(app), url)
                g_object_unref(ObjectPointer(app).address)
            }
            gtk_window_destroy(dialog.as())
        }
        gtk_window_present(dialog.as())
    }

    private func launch(_ app: ObjectPointer, _ url: URL) {
        let context = launchContext
        defer { g_object_unref(context.address) }
        let uri = strdup(url.absoluteString)
        defer { free(uri) }
        var uris = GList(data: uri, next: nil, prev: nil)
        var error: UnsafeMutablePointer<GError>?
        guard g_app_info_launch_uris(app.opaque, &uris, context.as(), &error) == 0 else { return }
        reportLaunch(error)
    }

    private func launchDefault(_ url: URL) {
        let context = launchContext
        defer { g_object_unref(context.address) }
        g_app_info_launch_default_for_uri_async(
            url.absoluteString, context.as(), nil,
            { _, result, data in
                onMainThread((result, data)) { result, data in
                    guard let data else { return }
                    let viewer = Unmanaged<PhotoViewer>.fromOpaque(data).takeRetainedValue()
                    var error: UnsafeMutablePointer<GError>?
                    if g_app_info_launch_default_for_uri_finish(result, &error) == 0 { viewer.reportLaunch(error) }
                }
            }, Unmanaged.passRetained(self).toOpaque())
    }

    private var launchContext: ObjectPointer {
        let context = ObjectPointer(gdk_display_get_app_launch_context(gtk_widget_get_display(widget.widget)))
        if RendererChoice.isApplied { g_app_launch_context_unsetenv(context.as(), RendererChoice.variable) }
        return context
    }

    private func reportLaunch(_ error: UnsafeMutablePointer<GError>?) {
        session.showToast(localized("No program opens the image: {error}", ["error": error.takeMessage()]))
    }
}
