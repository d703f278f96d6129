import CWebImageGTK
import FoundationEssentials
import WebImageGTK

/// Buttons with an image and a background for each state: one to try out, and one fixed in each state.
@MainActor final class ButtonsPage: GalleryPage {
    let widget: ObjectPointer
    private var slots: [ImageSlot] = []
    private let manager: WebImageManager
    private let urls: [(state: WebButton.State, image: URL, background: URL)]

    init(session: GallerySession) throws(WebImageError) {
        let manager = session.manager
        self.manager = manager
        var urls: [(state: WebButton.State, image: URL, background: URL)] = []
        for (number, state) in WebButton.State.allCases.reversed().enumerated() {
            let part = Double(number) / Double(WebButton.State.allCases.count - 1)
            let image = try Samples.photograph(hour: 0.5, hue: part, width: 96, height: 64)
            urls.append((state, image, try Samples.photograph(hour: part, width: 300, height: 200)))
        }
        self.urls = urls
        let (grid, attach) = Self.makeGrid()
        widget = .scrolling(ObjectPointer(grid))
        let button = makeButton(WebButton(wrapping: gtk_toggle_button_new()))
        attach(Self.captioned(button.widget, "Hover, press, toggle or focus with Tab"), 1, 0)
        for (number, state) in WebButton.State.allCases.enumerated() {
            let held = makeButton(WebButton())
            hold(held.widget, in: state)
            attach(Self.captioned(held.widget, "State: \(state)"), number % 3, 1 + number / 3)
        }
    }

    private func makeButton(_ button: WebButton) -> WebButton {
        gtk_widget_set_size_request(button.widget, 220, 140)
        gtk_widget_set_size_request(button.imageWidget, 64, 64)
        for (state, image, background) in urls {
            button.imageSlot(for: state).setImage(
                image, thumbnail: Thumbnail(.pixels(width: 64, height: 64), mode: .aspectFill),
                processors: [.circle(border: Border(width: 2, color: .white))], manager: manager)
            button.backgroundSlot(for: state).setImage(background, manager: manager)
            slots += [button.imageSlot(for: state), button.backgroundSlot(for: state)]
        }
        button.alternativeText = "A landscape"
        return button
    }

    private func hold(_ widget: UnsafeMutablePointer<GtkWidget>, in state: WebButton.State) {
        let flags: GtkStateFlags
        switch state {
        case .disabled: return gtk_widget_set_sensitive(widget, gboolean(0))
        case .highlighted: flags = GTK_STATE_FLAG_ACTIVE
        case .selected: flags = GTK_STATE_FLAG_SELECTED
        case .focused: flags = GTK_STATE_FLAG_FOCUS_VISIBLE
        case .hovered: flags = GTK_STATE_FLAG_PRELIGHT
        case .normal: return
        }
        gtk_widget_set_state_flags(widget, flags, gboolean(0))
    }

    var isSettled: Bool { slots.allSatisfy(\.isSettled) }
    var isComplete: Bool { slots.allSatisfy { $0.image != nil } }
}
