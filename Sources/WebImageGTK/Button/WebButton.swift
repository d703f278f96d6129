public import CWebImageGTK
public import FoundationEssentials
public import WebImage

/// A `GtkButton` with an image and a background for each of its states, each with a URL and a load of its own.
///
/// ```swift
/// let button = WebButton()
/// button.setImage(play, for: .normal)
/// button.setImage(playPressed, for: [.highlighted, .hovered])
/// button.setBackgroundImage(plate, for: .normal)
/// ```
///
/// A state whose picture is not there yet shows that of the next state that applies, down to `normal`. What is not on show
/// loads with low priority. The widget owns the `WebButton`, as with ``WebPicture``.
@MainActor public final class WebButton: ImageSlotOwner {
    /// The `GtkButton`; valid as long as this object.
    public let widget: UnsafeMutablePointer<GtkWidget>

    private let host: ViewHost
    private let imageLayer: ButtonLayer
    private let backgroundLayer: ButtonLayer
    private let ownership: WidgetOwnership<WebButton>

    /// Makes a new `GtkButton`.
    public convenience init() { self.init(wrapping: gtk_button_new()) }

    /// Takes over a `GtkButton`, or one of its kind such as a `GtkToggleButton`, whose child is replaced. A `WebButton`
    /// that it has already loses its place.
    ///
    /// The child is a `GtkOverlay` of two `GtkPicture`s, the background below the image. The button is as large as its image
    /// wants, or as it is told; the background fills it.
    public init(wrapping widget: UnsafeMutablePointer<GtkWidget>) {
        self.widget = widget
        host = ViewHost.of(widget)
        imageLayer = ButtonLayer("image", host: host)
        backgroundLayer = ButtonLayer("background", host: host)
        let pointer = ObjectPointer(widget)
        ownership = WidgetOwnership(of: pointer, under: Self.key)
        Self.key.value(of: pointer)?.retire()
        ownership.begin(with: self)
        // The image has a say in the button's size, the background has none.
        let overlay = ObjectPointer(gtk_overlay_new())
        gtk_overlay_set_child(overlay.opaque, gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0))
        gtk_overlay_add_overlay(overlay.opaque, backgroundLayer.widget)
        gtk_overlay_add_overlay(overlay.opaque, imageLayer.widget)
        gtk_overlay_set_measure_overlay(overlay.opaque, imageLayer.widget, gboolean(1))
        gtk_picture_set_content_fit(ObjectPointer(imageLayer.widget).opaque, GTK_CONTENT_FIT_SCALE_DOWN)
        gtk_button_set_child(pointer.address.assumingMemoryBound(to: GtkButton.self), overlay.widget)
        backgroundContentMode = .scaleAspectFill
        host.whenStateChanges { [weak self] in self?.update() }
    }

    /// The `WebButton` that `widget` owns; `nil` for a widget without one.
    public static func attached(to widget: UnsafeMutablePointer<GtkWidget>) -> WebButton? {
        key.value(of: ObjectPointer(widget))
    }

    private static let key = AssociationKey<WebButton>("web-image-button")

    // MARK: Slots

    /// The slot of the image in the normal state.
    public var imageSlot: ImageSlot { imageSlot(for: .normal) }

    /// The slot of the image in a state; its operation key is `image-` and the state's name.
    public func imageSlot(for state: State) -> ImageSlot { imageLayer.slot(for: state) }

    /// The slot of the background in a state; its operation key is `background-` and the state's name.
    public func backgroundSlot(for state: State) -> ImageSlot { backgroundLayer.slot(for: state) }

    /// The state whose image is on show, and the one whose background is; `nil` where there is none.
    public var shownStates: (image: State?, background: State?) {
        (imageLayer.shownState, backgroundLayer.shownState)
    }

    /// Shows the picture at `url` as the image in each of `states`: each has a load and a completion of its own. Everything else
    /// is as for ``ImageSlotOwner/setImage(_:placeholder:options:thumbnail:processors:priority:manager:progress:completion:)``.
    public func setImage(
        _ url: URL?, for states: Set<State>, placeholder: Placeholder? = nil, options: WebImageOptions = [],
        thumbnail: Thumbnail? = nil, processors: [any ImageProcessor] = [], priority: LoadPriority? = nil,
        manager: WebImageManager = .shared, progress: ProgressHandler? = nil, completion: CompletionHandler? = nil
    ) {
        for state in State.allCases where states.contains(state) {
            imageSlot(for: state).setImage(
                url, placeholder: placeholder, options: options, thumbnail: thumbnail, processors: processors,
                priority: priority, manager: manager, progress: progress, completion: completion)
        }
    }

    /// The same for the background.
    public func setBackgroundImage(
        _ url: URL?, for states: Set<State>, placeholder: Placeholder? = nil, options: WebImageOptions = [],
        thumbnail: Thumbnail? = nil, processors: [any ImageProcessor] = [], priority: LoadPriority? = nil,
        manager: WebImageManager = .shared, progress: ProgressHandler? = nil, completion: CompletionHandler? = nil
    ) {
        for state in State.allCases where states.contains(state) {
            backgroundSlot(for: state).setImage(
                url, placeholder: placeholder, options: options, thumbnail: thumbnail, processors: processors,
                priority: priority, manager: manager, progress: progress, completion: completion)
        }
    }

    /// The URL of the image on show now, or in another state; `nil` for none.
    public func imageURL(for state: State? = nil) -> URL? {
        (state ?? imageLayer.shownState).flatMap { imageLayer.slots[$0]?.imageURL }
    }

    /// The URL of the background on show now, or in another state; `nil` for none.
    public func backgroundImageURL(for state: State? = nil) -> URL? {
        (state ?? backgroundLayer.shownState).flatMap { backgroundLayer.slots[$0]?.imageURL }
    }

    /// Cancels the requests of all states; see ``ImageSlotOwner/cancelCurrentRequest(keepsURL:)``.
    public func cancelAllRequests(keepsURL: Bool = false) {
        for layer in [imageLayer, backgroundLayer] {
            for slot in layer.slots.values { slot.cancelCurrentRequest(keepsURL: keepsURL) }
        }
    }

    // MARK: Layout

    /// How backgrounds lie in the button, within its theme's padding; by default they fill it and are cut off.
    public var backgroundContentMode: ImageContentMode {
        get { backgroundLayer.contentMode ?? .scaleAspectFill }
        set {
            backgroundLayer.contentMode = newValue
            gtk_picture_set_content_fit(ObjectPointer(backgroundLayer.widget).opaque, GTK_CONTENT_FIT_FILL)
        }
    }

    /// The `GtkPicture` of the image: for a size request, margins and alignment.
    public var imageWidget: UnsafeMutablePointer<GtkWidget> { imageLayer.widget }

    /// The `GtkPicture` of the background.
    public var backgroundWidget: UnsafeMutablePointer<GtkWidget> { backgroundLayer.widget }

    // MARK: Accessibility

    /// What screen readers call the button; `nil`, the default, says nothing.
    public var alternativeText: String? {
        didSet {
            guard !ownership.isWidgetDestroyed else { return }
            gtk_picture_set_alternative_text(ObjectPointer(imageLayer.widget).opaque, alternativeText)
            ObjectPointer(widget).setAccessibleLabel(alternativeText)
        }
    }

    // MARK: Life

    private func update() {
        imageLayer.update()
        backgroundLayer.update()
    }

    /// Another one takes the widget over.
    private func retire() {
        for layer in [imageLayer, backgroundLayer] { for slot in layer.slots.values { host.remove(slot) } }
    }
}
