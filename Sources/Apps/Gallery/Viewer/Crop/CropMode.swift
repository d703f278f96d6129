import CWebImageGTK
import GTKObjects
import WebImageGTK

/// Cropping in the viewer: the selection over the image, and a bar with its shape, its size, and what to do with it.
@MainActor final class CropMode {
    let view: CropView
    let bar: ObjectPointer
    /// Called with what is to be kept, of the image as it is on screen.
    var onSave: (PixelRect) -> Void = { _ in }
    /// Called when the mode begins and ends.
    var onChange: () -> Void = {}

    private let canvas: ZoomView
    private let shapes = ObjectPointer.dropDown(CropSelection.Shape.allCases.map(\.title), localized("Shape")).named(
        localized("Shape"))
    private let sizeLabel = ObjectPointer.label("", "numeric").set("wrap", false)

    init(canvas: ZoomView) {
        self.canvas = canvas
        view = CropView { [weak canvas] in
            canvas?.place.area ?? PointRect(x: 0, y: 0, width: 0, height: 0)
        }
        let cancel = ObjectPointer.iconButton("window-close-symbolic", localized("Cancel"))
        let save = ObjectPointer.button(localized("_Save…")) {}.style("suggested-action").named(
            localized("Save a copy"))
        bar = .row(spacing: 6, [shapes, sizeLabel.margins(horizontal: 6), cancel.style("flat"), save])
        bar.style("osd").style("toolbar").style("viewer-bar").aligned(GTK_ALIGN_CENTER, GTK_ALIGN_END)
            .set("margin-bottom", 12).isVisible = false
        cancel.onSignal("clicked") { [weak self] in self?.end() }
        save.onSignal("clicked") { [weak self] in self?.save() }
        shapes.onChange(of: "selected") { [weak self] in self?.shapeDidChange() }
        view.onChange = { [weak self] in self?.updateLabel() }
        // Otherwise these keys would reach the viewer, and leave the image.
        view.addKeys(to: bar)
        for part in parts { addKeys(to: part) }
    }

    private func addKeys(to target: ObjectPointer) {
        let keys = ObjectPointer(gtk_event_controller_key_new())
        keys.onKey { [weak self] key, _ in
            switch key {
            case GDK_KEY_Escape: self?.end()
            case GDK_KEY_Return, GDK_KEY_KP_Enter: self?.save()
            default: return false
            }
            return true
        }
        gtk_widget_add_controller(target.widget, keys.opaque)
    }

    var isActive: Bool { view.selection != nil }

    /// The widgets to lay over the image.
    var parts: [ObjectPointer] { [view.widget, bar] }

    /// Begins with the whole image, if its size is known.
    func begin() {
        guard !isActive, canvas.image != nil, let size = canvas.imageSize else { return }
        canvas.zoom = .fit
        shapes.set("selected", 0)
        view.begin(size: canvas.quarterTurns % 2 == 0 ? size : size.transposed)
        bar.isVisible = true
        onChange()
    }

    func end() {
        guard isActive else { return }
        view.end()
        bar.isVisible = false
        gtk_widget_grab_focus(canvas.widget)
        onChange()
    }

    func save() {
        guard let selection = view.selection else { return }
        end()
        onSave(selection.pixels)
    }

    private func shapeDidChange() {
        let index = shapes.get("selected", as: Int.self)
        guard CropSelection.Shape.allCases.indices.contains(index) else { return }
        view.setShape(CropSelection.Shape.allCases[index])
    }

    private func updateLabel() {
        sizeLabel.text = view.selection.map { "\($0.pixels.width) × \($0.pixels.height)" } ?? ""
    }
}
