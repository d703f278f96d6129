import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

/// A dialog that asks for a text.
@MainActor enum TextDialog {
    /// - Parameters:
    ///   - label: the name of the entry for assistive technologies.
    ///   - confirmation: the title of the button, with a mnemonic.
    ///   - allowsEmpty: whether a text without a character is an answer, too.
    ///   - body: called with the text, without white space at its ends, if the user confirms it.
    /// - Returns: the entry.
    @discardableResult static func ask(
        over window: ObjectPointer, _ title: String, _ explanation: String, _ label: String, _ confirmation: String,
        allowsEmpty: Bool = false, _ body: @escaping @MainActor (String) -> Void
    ) -> ObjectPointer {
        let dialog = ObjectPointer(adw_message_dialog_new(window.as(), nil, nil))
        dialog.set("title", title)
        // libadwaita 1.7 measures a heading of its own at widths that are too narrow for it, and GTK warns.
        let heading = ObjectPointer.label(title, "title-2")
        let explanation = ObjectPointer.label(explanation)
        for label in [heading, explanation] { label.set("xalign", 0.5).set("justify", 2) }
        let entry = ObjectPointer(gtk_entry_new()).set("activates-default", true)
        entry.setAccessibleLabel(label)
        let content = ObjectPointer.column(spacing: 12, [heading, explanation, entry])
        adw_message_dialog_set_extra_child(dialog.as(), content.widget)
        for (name, title) in [("cancel", localized("_Cancel")), ("open", confirmation)] {
            adw_message_dialog_add_response(dialog.as(), name, title)
        }
        adw_message_dialog_set_response_appearance(dialog.as(), "open", ADW_RESPONSE_SUGGESTED)
        adw_message_dialog_set_default_response(dialog.as(), "open")
        adw_message_dialog_set_close_response(dialog.as(), "cancel")
        dialog.onText("response") { response in
            let text = entry.get("text", as: String.self).trimmed
            if response == "open", allowsEmpty || !text.isEmpty { body(text) }
        }
        gtk_window_present(dialog.as())
        gtk_widget_grab_focus(entry.widget)
        return entry
    }
}

@MainActor extension ObjectPointer {
    /// Calls `body` with the text that is the only argument of a signal.
    func onText(_ signal: String, _ body: @escaping @MainActor (String) -> Void) {
        let trampoline: @convention(c) (gpointer, UnsafePointer<CChar>?, gpointer) -> Void = { _, text, data in
            let text = text.map { String(cString: $0) } ?? ""
            SignalHandler<(String) -> Void>.with(data) { $0(text) }
        }
        connect(signal, SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }
}
