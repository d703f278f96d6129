internal import CWebImageGTK

extension WebButton {
    /// A state of a button; the first of them that applies and has a picture is shown.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// It can't be used.
        case disabled
        /// It is being pressed.
        case highlighted
        /// It is on, as a `GtkToggleButton` can be.
        case selected
        /// It has the keyboard focus, and the user uses the keyboard.
        case focused
        /// The pointer is over it.
        case hovered
        /// Always, if nothing else.
        case normal

        /// The flags of which one is enough; none for `normal`.
        private var flags: UInt32 {
            switch self {
            case .disabled: GTK_STATE_FLAG_INSENSITIVE.rawValue
            case .highlighted: GTK_STATE_FLAG_ACTIVE.rawValue
            case .selected: GTK_STATE_FLAG_CHECKED.rawValue | GTK_STATE_FLAG_SELECTED.rawValue
            case .focused: GTK_STATE_FLAG_FOCUS_VISIBLE.rawValue
            case .hovered: GTK_STATE_FLAG_PRELIGHT.rawValue
            case .normal: 0
            }
        }

        /// Whether a widget with those flags is in the state.
        func applies(to flags: GtkStateFlags) -> Bool { self == .normal || flags.rawValue & self.flags != 0 }
    }
}
