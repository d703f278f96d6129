import CWebImageGTK
import GTKObjects
import WebImageGTK

/// Names the files that are being saved, over the image, with a button that cancels them. It appears after a moment,
/// because most files are saved before.
@MainActor final class SavingBar {
    let widget: ObjectPointer
    let cancelButton: ObjectPointer
    private let label = ObjectPointer.label("").set("wrap", false).set("max-width-chars", 40)
    private var saves: [(number: Int, name: String, task: Task<Void, Never>)] = []
    private var count = 0
    private var delay: MainLoopCall?
    /// Called when the first save begins, and when the last one ends.
    var onChange: () -> Void = {}

    private static let delayMilliseconds: UInt32 = 200

    init() {
        cancelButton = ObjectPointer.button(localized("_Cancel")) {}.style("flat")
        widget = .row(spacing: 6, [label.margins(horizontal: 6), cancelButton])
        widget.style("osd").style("toolbar").aligned(GTK_ALIGN_CENTER, GTK_ALIGN_START).margins(12).isVisible = false
        gtk_label_set_ellipsize(label.opaque, PANGO_ELLIPSIZE_MIDDLE)
        cancelButton.onSignal("clicked") { [weak self] in self?.cancel() }
        let keys = ObjectPointer(gtk_event_controller_key_new())
        keys.onKey { [weak self] key, _ in
            guard key == GDK_KEY_Escape else { return false }
            self?.cancel()
            return true
        }
        gtk_widget_add_controller(widget.widget, keys.opaque)
    }

    /// Whether files are being saved.
    var isActive: Bool { !saves.isEmpty }

    /// Names a file until `body` ends. Its task is cancelled by the user.
    func show(_ name: String, while body: @escaping @MainActor () async -> Void) {
        count += 1
        let number = count
        let task = Task { [weak self] in
            await body()
            self?.remove(number)
        }
        saves.append((number, name, task))
        update()
        if saves.count == 1 { onChange() }
    }

    private func remove(_ number: Int) {
        saves.removeAll { $0.number == number }
        update()
        if saves.isEmpty { onChange() }
    }

    /// Cancels all saves. Each is named until it has ended.
    func cancel() {
        for save in saves { save.task.cancel() }
    }

    private func update() {
        label.text = counted(
            "Saving {file}", "Saving {count} files", count: saves.count, ["file": saves.first?.name ?? ""])
        if saves.isEmpty {
            delay = nil
            widget.isVisible = false
        } else if !widget.isVisible, delay == nil {
            delay = MainLoopCall.after(milliseconds: Self.delayMilliseconds) { [weak self] in
                self?.delay = nil
                self?.widget.isVisible = true
            }
        }
    }
}
