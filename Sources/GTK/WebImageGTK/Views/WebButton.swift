public import CWebImageGTK
internal import FoundationEssentials
internal import GTKObjects
import WebImage

/// A `GtkButton` with an image and a background for each of its states, each with its own URL and load.
///
/// ```swift
/// let button = WebButton()
/// button.setImage(play)                                          // in the normal state
/// button.imageSlot(for: GTK_STATE_FLAG_ACTIVE).setImage(playPressed)
/// button.backgroundSlot(for: GTK_STATE_FLAG_NORMAL).setImage(plate)
/// ```
///
/// A state without a loaded image shows that of the next state that applies, down to `normal`. Hidden images load with
/// low priority. The widget owns the `WebButton`, as with ``WebPicture``.
@MainActor public final class WebButton: ImageSlotOwner {
    /// The `GtkButton`, valid during the life of this object.
    public let widget: UnsafeMutablePointer<GtkWidget>

    private let host: ViewHost
    private let imageLayer: ButtonLayer
    private let backgroundLayer: ButtonLayer
    private let ownership: WidgetOwnership<WebButton>

    /// A state of a button. The button shows the image of the first state that applies and has one.
    enum State: Sendable, CaseIterable {
        /// The button is insensitive.
        case disabled
        /// The button is being pressed.
        case highlighted
        /// The button is on, such as an active `GtkToggleButton`.
        case selected
        /// The button has the keyboard focus, and the user uses the keyboard.
        case focused
        /// The pointer is over the button.
        case hovered
        /// Any other state.
        case normal

        /// The flags of the state, any of which is sufficient; 0 for `normal`.
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

        /// The first state that a widget with these flags is in.
        init(_ flags: GtkStateFlags) { self = Self.allCases.first { $0.applies(to: flags) } ?? .normal }

        /// Whether a widget with these flags is in the state.
        func applies(to flags: GtkStateFlags) -> Bool { self == .normal || flags.rawValue & self.flags != 0 }
    }

    /// Makes a new `GtkButton`, or takes over an existing one.
    ///
    /// The child becomes a `GtkOverlay` of two `GtkPicture`s, the background below the image. The button requests the
    /// size of its image. The background fills it.
    ///
    /// - Parameter widget: a `GtkButton` or a subclass such as `GtkToggleButton`. Its child and an earlier `WebButton`
    ///   are replaced. `nil`, the default, makes a new one.
    public init(wrapping widget: UnsafeMutablePointer<GtkWidget>? = nil) {
        let widget: UnsafeMutablePointer<GtkWidget> = if let widget { widget } else { gtk_button_new() }
        self.widget = widget
        host = ViewHost.of(widget)
        imageLayer = ButtonLayer("image", host: host)
        backgroundLayer = ButtonLayer("background", host: host)
        let pointer = ObjectPointer(widget)
        ownership = WidgetOwnership(of: pointer, under: Self.key)
        Self.key.value(of: pointer)?.retire()
        ownership.begin(with: self)
        // The image determines the button's size, the background does not.
        let overlay = ObjectPointer(gtk_overlay_new())
        gtk_overlay_set_child(overlay.opaque, gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0))
        gtk_overlay_add_overlay(overlay.opaque, backgroundLayer.widget)
        gtk_overlay_add_overlay(overlay.opaque, imageLayer.widget)
        gtk_overlay_set_measure_overlay(overlay.opaque, imageLayer.widget, gboolean(1))
        gtk_picture_set_content_fit(ObjectPointer(imageLayer.widget).opaque, GTK_CONTENT_FIT_SCALE_DOWN)
        gtk_button_set_child(pointer.address.assumingMemoryBound(to: GtkButton.self), overlay.widget)
        backgroundLayer.takeWholeArea(with: .scaleAspectFill)
        host.whenStateChanges { [weak self] in
            self?.imageLayer.update()
            self?.backgroundLayer.update()
        }
    }

    /// The `WebButton` that `widget` owns; `nil` for a widget without one.
    public static func attached(to widget: UnsafeMutablePointer<GtkWidget>) -> WebButton? {
        key.value(of: ObjectPointer(widget))
    }

    private static let key = AssociationKey<WebButton>("web-image-button")

    // MARK: Slots

    /// The slot of the image in the normal state.
    public var imageSlot: ImageSlot { imageSlot(for: .normal) }

    /// The slot of the image in a state. Its operation key is `image-` and the name of the state.
    func imageSlot(for state: State) -> ImageSlot { imageLayer.slot(for: state) }

    /// The slot of the background in a state. Its operation key is `background-` and the name of the state.
    func backgroundSlot(for state: State) -> ImageSlot { backgroundLayer.slot(for: state) }

    /// The slot of the image in a state.
    ///
    /// The button shows the image of the first state in this table that applies and has one.
    ///
    /// | flag | state |
    /// |---|---|
    /// | `GTK_STATE_FLAG_INSENSITIVE` | insensitive |
    /// | `GTK_STATE_FLAG_ACTIVE` | being pressed |
    /// | `GTK_STATE_FLAG_CHECKED`, `GTK_STATE_FLAG_SELECTED` | on, such as an active `GtkToggleButton` |
    /// | `GTK_STATE_FLAG_FOCUS_VISIBLE` | has the keyboard focus, and the user uses the keyboard |
    /// | `GTK_STATE_FLAG_PRELIGHT` | the pointer is over the button |
    /// | any other | normal |
    ///
    /// - Parameter state: one flag; of several, the first in the table counts.
    public func imageSlot(for state: GtkStateFlags) -> ImageSlot { imageSlot(for: State(state)) }

    /// The slot of the background in a state, as for ``imageSlot(for:)``.
    public func backgroundSlot(for state: GtkStateFlags) -> ImageSlot { backgroundSlot(for: State(state)) }

    /// The states whose image and background are visible, for tests; `nil` if there is none.
    var shownStates: (image: State?, background: State?) {
        (imageLayer.shownState, backgroundLayer.shownState)
    }

    /// The `GtkPicture` of the image, whose size and style can be set.
    public var imageWidget: UnsafeMutablePointer<GtkWidget> { imageLayer.widget }

    /// Removes the slots, because another `WebButton` takes over the widget.
    private func retire() {
        for layer in [imageLayer, backgroundLayer] { for slot in layer.slots.values { host.remove(slot) } }
    }
}

/// The images or the backgrounds of a button. It has a slot for each state, of which one is visible.
@MainActor private final class ButtonLayer {
    /// A `GtkPicture`.
    let widget: UnsafeMutablePointer<GtkWidget>
    private let name: String
    private let host: ViewHost
    private let paintable = PicturePaintable()
    /// Draws nothing. Slots without a content mode have this painter's.
    private let emptyPainter: SlotPainter
    private(set) var slots: [WebButton.State: ImageSlot] = [:]
    /// The state whose image is visible.
    private(set) var shownState: WebButton.State?

    init(_ name: String, host: ViewHost) {
        self.name = name
        self.host = host
        emptyPainter = paintable.painter
        widget = gtk_picture_new_for_paintable(paintable.reference.pointer.opaque)
    }

    /// Returns the slot of a state, which is made on first use.
    func slot(for state: WebButton.State) -> ImageSlot {
        if let slot = slots[state] { return slot }
        let slot = ImageSlot(key: "\(name)-\(state)", host: host)
        slot.isOnShow = false
        slots[state] = slot
        if host.widget == nil { slot.retire() } else { host.add(slot) }
        slot.painter.primary = emptyPainter
        slot.defaultContentMode = { .scaleAspectFit }
        slot.takesWholeArea = { [weak self] in self?.takeWholeArea(with: .scaleAspectFit) }
        slot.onAlternativeText = { [widget] in gtk_picture_set_alternative_text(ObjectPointer(widget).opaque, $0) }
        slot.painter.onContentChange = { [weak self] in self?.update() }
        update()
        return slot
    }

    /// Gives the painters the whole area, in which they lay out images.
    ///
    /// - Parameter mode: the mode of slots without their own.
    func takeWholeArea(with mode: ImageContentMode) {
        if emptyPainter.contentMode == nil { emptyPainter.contentMode = mode }
        gtk_picture_set_content_fit(ObjectPointer(widget).opaque, GTK_CONTENT_FIT_FILL)
        paintable.invalidateContents()
    }

    /// Shows the image that suits the widget's state.
    func update() {
        let flags = host.stateFlags
        let applying = WebButton.State.allCases.filter { $0.applies(to: flags) && slots[$0] != nil }
        // If no slot has content, the last one may have an indicator to show.
        shownState = applying.first { !(slots[$0]?.painter.top.isEmpty ?? true) } ?? applying.last
        let shown = shownState.flatMap { slots[$0] }
        paintable.painter = shown?.painter ?? emptyPainter
        for slot in slots.values { slot.isOnShow = slot === shown }
    }
}
