import CWebImageAdwaita
import CWebImageGTK
import FoundationEssentials
import GTKObjects
import WebImageGTK

/// Asks how an image is written, then where.
@MainActor final class SaveDialog {
    private let window = ObjectPointer(adw_window_new())
    private let parent: ObjectPointer
    private let url: URL
    private let originalFormat: ImageFormat?
    private let onSave: (PhotoExport, URL) -> Void
    private let choices: [ImageFormat?]
    private(set) var export: PhotoExport

    private let formatRow: ObjectPointer
    private let qualitySlider = ObjectPointer(gtk_scale_new_with_range(GTK_ORIENTATION_HORIZONTAL, 1, 100, 1))
    private let losslessSwitch = ObjectPointer(gtk_switch_new())
    let metadataSwitch = ObjectPointer(gtk_switch_new())
    private let sideRow = ObjectPointer.menuRow(
        localized("Longest side"),
        sides.map { $0.map { counted("{count} pixel", "{count} pixels", count: $0) } ?? localized("Original size") })
    private let bytesRow = ObjectPointer.menuRow(localized("File size"), byteLimits.map(\.title))
    private let qualityRow, losslessRow, conversion: ObjectPointer
    private let preview: ObjectPointer?

    private static let sides: [Int?] = [nil, 3_840, 2_560, 1_920, 1_280, 640]
    private static let byteLimits: [(title: String, bytes: Int?)] = [
        (localized("No limit"), nil), (localized("5 MB"), 5_000_000), (localized("2 MB"), 2_000_000),
        (localized("1 MB"), 1_000_000), (localized("500 kB"), 500_000),
        (localized("100 kB"), 100_000),
    ]

    /// - Parameters:
    ///   - original: the format of the file; `nil` if it is unknown.
    ///   - preview: a `GdkPaintable` of what is saved.
    ///   - onSave: called with the user's choice.
    init(
        _ url: URL, original: ImageFormat?, quarterTurns: Int, crop: PixelRect? = nil, preview: ObjectPointer? = nil,
        over parent: ObjectPointer, onSave: @escaping (PhotoExport, URL) -> Void
    ) {
        (self.url, self.parent, self.onSave, originalFormat) = (url, parent, onSave, original)
        let formats = PhotoExport.formats
        var export = PhotoExport(quarterTurns: quarterTurns, crop: crop)
        // The bytes as they came are not changed.
        choices = export.changesPixels ? formats : [nil] + formats
        if export.changesPixels { export.format = original.flatMap { formats.contains($0) ? $0 : nil } ?? .png }
        self.export = export
        self.preview = preview
        formatRow = .menuRow(
            localized("Format"),
            choices.map {
                $0?.title ?? original.map { localized("Original file ({format})", ["format": $0.title]) }
                    ?? localized("Original file")
            })
        (qualityRow, losslessRow) = (
            .row(localized("Quality"), qualitySlider), .row(localized("Lossless"), losslessSwitch)
        )
        let metadataRow = ObjectPointer.row(
            localized("Keep metadata"), subtitle: localized("Camera, date and place"), metadataSwitch)
        conversion = .group(localized("Conversion"), [qualityRow, losslessRow, sideRow, bytesRow, metadataRow])
        showExport()
        buildWindow()
        connectRows()
        update()
    }

    func present() {
        Self.key.set(self, on: window)
        gtk_window_present(window.as())
    }

    /// The window owns the dialog.
    private static let key = AssociationKey<SaveDialog>("web-image-gallery-save-dialog")

    private func showExport() {
        gtk_scale_set_draw_value(qualitySlider.as(), 1)
        gtk_scale_set_value_pos(qualitySlider.as(), GTK_POS_LEFT)
        qualitySlider.sized(160, -1)
        gtk_range_set_value(qualitySlider.as(), (export.quality * 100).rounded())
        formatRow.set("selected", choices.firstIndex(of: export.format) ?? 0)
        metadataSwitch.set("active", export.keepsMetadata)
    }

    private func buildWindow() {
        gtk_window_set_title(window.as(), localized("Save as"))
        gtk_window_set_modal(window.as(), 1)
        gtk_window_set_transient_for(window.as(), parent.as())
        window.sized(300, 240)

        let header = ObjectPointer(adw_header_bar_new())
        header.set("show-end-title-buttons", false).set("show-start-title-buttons", false)
        let cancel = ObjectPointer.button(localized("_Cancel")) { [weak self] in self?.close() }
        let save = ObjectPointer.button(localized("_Save…")) { [weak self] in self?.chooseFile() }
        save.style("suggested-action")
        adw_header_bar_pack_start(header.opaque, cancel.widget)
        adw_header_bar_pack_end(header.opaque, save.widget)
        let groups = ObjectPointer.column(spacing: 18, previews + [.group("", [formatRow]), conversion]).margins(12)
        let scroller = ObjectPointer.scrolling(.clamped(groups, width: 560)).set("propagate-natural-height", true)
        adw_window_set_content(window.as(), ObjectPointer.column([header, scroller]).widget)
        gtk_window_set_default_widget(window.as(), save.widget)
        let keys = ObjectPointer(gtk_event_controller_key_new())
        keys.onKey { [weak self] key, _ in
            guard key == GDK_KEY_Escape else { return false }
            self?.close()
            return true
        }
        gtk_widget_add_controller(window.widget, keys.opaque)
    }

    /// The image to save, with its name; nothing without a preview.
    private var previews: [ObjectPointer] {
        guard let preview else { return [] }
        let picture = ObjectPointer(gtk_picture_new_for_paintable(preview.opaque)).sized(-1, 160)
        picture.setAccessibleLabel(localized("What is saved"))
        let name = ObjectPointer.label(url.displayName, "caption", "dim-label").set("wrap", false).set("xalign", 0.5)
        gtk_label_set_ellipsize(name.opaque, PANGO_ELLIPSIZE_MIDDLE)
        return [.column(spacing: 6, [picture, name])]
    }

    private func connectRows() {
        for row in [formatRow, sideRow, bytesRow] { row.onChange(of: "selected") { [weak self] in self?.update() } }
        for button in [losslessSwitch, metadataSwitch] {
            button.onChange(of: "active") { [weak self] in self?.update() }
        }
        qualitySlider.onSignal("value-changed") { [weak self] in self?.update() }
    }

    /// Takes over what is chosen, and hides what has no effect.
    private func update() {
        func selected<Value>(_ row: ObjectPointer, _ values: [Value]) -> Value {
            values[min(Int(adw_combo_row_get_selected(row.as())), values.count - 1)]
        }
        export.format = selected(formatRow, choices)
        export.longestSide = selected(sideRow, Self.sides)
        export.byteLimit = selected(bytesRow, Self.byteLimits).bytes
        export.isLossless = losslessSwitch.get("active") && export.canBeLossless
        export.keepsMetadata = metadataSwitch.get("active")
        export.quality = gtk_range_get_value(qualitySlider.as()) / 100
        conversion.isVisible = export.format != nil
        qualityRow.isVisible = export.usesQuality
        losslessRow.isVisible = export.canBeLossless
        formatRow.set("subtitle", export.format == nil ? localized("The file as it is, without loss") : "")
        // As high as what is shown, up to a limit; narrow screens scroll.
        gtk_window_set_default_size(window.as(), 420, export.format == nil ? -1 : 640)
    }

    /// In points.
    var height: Int { Int(gtk_widget_get_height(window.widget)) }

    func close() { gtk_window_destroy(window.as()) }

    private func chooseFile() {
        let chooser = ObjectPointer(
            web_image_file_chooser_new(
                localized("Save as"), parent.as(), GTK_FILE_CHOOSER_ACTION_SAVE, localized("_Save"),
                localized("_Cancel")))
        web_image_file_chooser_set_name(chooser.opaque, export.fileName(for: url, original: originalFormat))
        if url.isFileURL {
            let folder = ObjectPointer(
                url.folder.withCString { g_file_new_for_path($0) })
            web_image_file_chooser_set_folder(chooser.opaque, folder.opaque)
            g_object_unref(folder.address)
        }
        let (export, onSave) = (export, onSave)
        close()
        chooser.chooseFiles { locations in
            // A server that is not mounted has no path.
            if let path = locations.first, path.hasPrefix("/") { onSave(export, URL(filePath: path)) }
        }
    }
}
