import CWebImageGTK
import GTKObjects
import WebImageGTK

/// Prints an image on one page, as large as the paper allows, turned to the paper's longer side.
@MainActor struct PhotoPrint {
    let image: Image
    /// The name of the print job.
    let title: String

    /// Why nothing was printed, for users.
    struct Failure: Error, CustomStringConvertible {
        let description: String

        fileprivate init(_ description: String) { self.description = description }

        fileprivate init(_ error: UnsafeMutablePointer<GError>?) { description = error.takeMessage() }
    }

    /// Shows the print dialog over a window. The dialog has no main loop of its own, in which the main actor's work would wait.
    ///
    /// - Parameter completion: called when the image was sent to the printer, or the dialog was closed.
    func run(over window: ObjectPointer, completion: @escaping @MainActor (Failure?) -> Void) {
        let operation = makeOperation()
        gtk_print_operation_set_allow_async(operation.as(), 1)
        operation.onResponse("done") { result in
            guard result == Int(GTK_PRINT_OPERATION_RESULT_ERROR.rawValue) else { return completion(nil) }
            var error: UnsafeMutablePointer<GError>?
            gtk_print_operation_get_error(operation.as(), &error)
            completion(Failure(error))
        }
        if let failure = run(GTK_PRINT_OPERATION_ACTION_PRINT_DIALOG, operation, window) { completion(failure) }
    }

    /// Prints to a PDF file.
    func export(to path: String) throws(Failure) {
        let operation = makeOperation()
        gtk_print_operation_set_export_filename(operation.as(), path)
        if let failure = run(GTK_PRINT_OPERATION_ACTION_EXPORT, operation, nil) { throw failure }
    }

    private func makeOperation() -> ObjectPointer {
        let operation = ObjectPointer(gtk_print_operation_new())
        gtk_print_operation_set_n_pages(operation.as(), 1)
        gtk_print_operation_set_job_name(operation.as(), title)
        gtk_print_operation_set_embed_page_setup(operation.as(), 1)
        let page = ObjectPointer(gtk_page_setup_new())
        defer { g_object_unref(page.address) }
        let isWide = image.width > image.height
        gtk_page_setup_set_orientation(
            page.opaque, isWide ? GTK_PAGE_ORIENTATION_LANDSCAPE : GTK_PAGE_ORIENTATION_PORTRAIT)
        gtk_print_operation_set_default_page_setup(operation.as(), page.opaque)
        operation.onDrawPage { [image] in Self.draw(image, in: $0) }
        return operation
    }

    /// Returns why the operation has not begun, or has failed at once.
    private func run(
        _ action: GtkPrintOperationAction, _ operation: ObjectPointer, _ window: ObjectPointer?
    ) -> Failure? {
        // GTK keeps the operation until its end.
        defer { g_object_unref(operation.address) }
        guard max(image.width, image.height) <= Self.longestSide else {
            return Failure(localized("a side is longer than {count} pixels", ["count": Self.longestSide]))
        }
        var error: UnsafeMutablePointer<GError>?
        let result = gtk_print_operation_run(operation.as(), action, window?.as(), &error)
        return result == GTK_PRINT_OPERATION_RESULT_ERROR ? Failure(error) : nil
    }

    /// The limit of cairo's surfaces.
    private static let longestSide = 32_767

    /// Draws the image in the middle of the page.
    private static func draw(_ image: Image, in context: OpaquePointer) {
        let (width, height) = (image.width, image.height)
        guard let surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, gint(width), gint(height)),
            let bytes = cairo_image_surface_get_data(surface)
        else { return }
        defer { cairo_surface_destroy(surface) }
        cairo_surface_flush(surface)
        let texture = image.makeTexture()
        defer { g_object_unref(UnsafeMutableRawPointer(texture)) }
        gdk_texture_download(texture, bytes, gsize(cairo_image_surface_get_stride(surface)))
        cairo_surface_mark_dirty(surface)
        let (pageWidth, pageHeight) = (gtk_print_context_get_width(context), gtk_print_context_get_height(context))
        let scale = min(pageWidth / Double(width), pageHeight / Double(height))
        let cairo = gtk_print_context_get_cairo_context(context)
        cairo_translate(
            cairo, (pageWidth - Double(width) * scale) / 2, (pageHeight - Double(height) * scale) / 2)
        cairo_scale(cairo, scale, scale)
        cairo_set_source_surface(cairo, surface, 0, 0)
        cairo_paint(cairo)
    }
}

@MainActor extension ObjectPointer {
    /// Calls `body` with the `GtkPrintContext` when a `GtkPrintOperation` draws a page.
    fileprivate func onDrawPage(_ body: @escaping @MainActor (_ context: OpaquePointer) -> Void) {
        let trampoline: @convention(c) (gpointer, OpaquePointer?, gint, gpointer) -> Void = { _, context, _, data in
            guard let context else { return }
            SignalHandler<(OpaquePointer) -> Void>.with(data) { $0(context) }
        }
        connect("draw-page", SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }
}
