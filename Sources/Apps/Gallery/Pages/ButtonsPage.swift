import CWebImageGTK
import FoundationEssentials
import GTKObjects
import WebImageGTK

/// Buttons with an image and a background for each state: one to try out, and one fixed in each state.
@MainActor final class ButtonsPage: PhotographPage {
    private var buttonSlots: [ImageSlot] = []

    init(samples: Samples) {
        super.init(
            samples: samples,
            introduction:
                localized(
                    "A WebButton has an image and a background for each state of a button. It shows the first state that applies and has an image."
                )
        )
    }

    override var slots: [ImageSlot] { buttonSlots }

    override func fill(with photographs: [Photograph]) {
        let button = makeButton(WebButton(wrapping: gtk_toggle_button_new()), photographs)
        ObjectPointer(button.widget).aligned(GTK_ALIGN_START).sized(280, 160)
        content.append(
            .section(
                localized("Try it"), localized("Hover, press, toggle, or move the focus here with Tab."),
                [ObjectPointer(button.widget)]))
        let cards = ButtonState.allCases.reversed().map { state in
            let button = makeButton(WebButton(), photographs)
            hold(ObjectPointer(button.widget), in: state)
            return ObjectPointer.card(
                ObjectPointer(button.widget), state.title, state.explanation)
        }
        content.append(
            .section(
                localized("Every state"), localized("Each button is held in one state, regardless of the pointer."),
                [.flow(Array(cards), columns: 3)]))
    }

    private func makeButton(_ button: WebButton, _ photographs: [Photograph]) -> WebButton {
        ObjectPointer(button.widget).sized(220, 140).style("picture-button")
        gtk_widget_set_overflow(button.widget, GTK_OVERFLOW_HIDDEN)
        ObjectPointer(button.imageWidget).sized(72, 72)
        for (number, state) in ButtonState.allCases.enumerated() {
            let (image, background) = (button.imageSlot(for: state.flag), button.backgroundSlot(for: state.flag))
            image.setImage(
                photographs[around: number].url,
                thumbnail: Thumbnail(.pixels(width: 144, height: 144), mode: .aspectFill),
                processors: [
                    .resize(toFill: .pixels(width: 72, height: 72)), .circle(border: Border(width: 2, color: .white)),
                ],
                manager: samples.manager)
            // The image of the next photograph over the background of this one.
            background.setImage(
                photographs[around: number + 1].url,
                thumbnail: Thumbnail(.pixels(width: 560, height: 320), mode: .aspectFill),
                processors: state == .disabled ? [.grayscale()] : [], manager: samples.manager)
            buttonSlots += [image, background]
        }
        button.alternativeText = localized("Photograph")
        return button
    }

    private func hold(_ button: ObjectPointer, in state: ButtonState) {
        guard state != .disabled else { return gtk_widget_set_sensitive(button.widget, 0) }
        gtk_widget_set_state_flags(button.widget, state.flag, 1)
        gtk_widget_set_can_target(button.widget, 0)
        gtk_widget_set_focusable(button.widget, 0)
    }
}

/// A state of a button, the one that takes precedence first.
private enum ButtonState: CaseIterable {
    case disabled, highlighted, selected, focused, hovered, normal

    var title: String {
        switch self {
        case .disabled: localized("Disabled")
        case .highlighted: localized("Pressed")
        case .selected: localized("On")
        case .focused: localized("Focused")
        case .hovered: localized("Hovered")
        case .normal: localized("Normal")
        }
    }

    var explanation: String {
        switch self {
        case .disabled: localized("GTK_STATE_FLAG_INSENSITIVE. The background is also gray.")
        case .highlighted: localized("GTK_STATE_FLAG_ACTIVE, while the button is held down.")
        case .selected: localized("GTK_STATE_FLAG_CHECKED, such as a toggle button that is on.")
        case .focused: localized("GTK_STATE_FLAG_FOCUS_VISIBLE, for users of the keyboard.")
        case .hovered: localized("GTK_STATE_FLAG_PRELIGHT, under the pointer.")
        case .normal: localized("GTK_STATE_FLAG_NORMAL, and every state without its own image.")
        }
    }

    var flag: GtkStateFlags {
        switch self {
        case .disabled: GTK_STATE_FLAG_INSENSITIVE
        case .highlighted: GTK_STATE_FLAG_ACTIVE
        case .selected: GTK_STATE_FLAG_SELECTED
        case .focused: GTK_STATE_FLAG_FOCUS_VISIBLE
        case .hovered: GTK_STATE_FLAG_PRELIGHT
        case .normal: GTK_STATE_FLAG_NORMAL
        }
    }
}
