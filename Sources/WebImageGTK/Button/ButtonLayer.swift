internal import CWebImageGTK
internal import WebImage

/// The pictures of a button in one layer, its image or its background: a slot for each state, of which one is on show.
@MainActor final class ButtonLayer {
    /// A `GtkPicture`.
    let widget: UnsafeMutablePointer<GtkWidget>
    private let name: String
    private let host: ViewHost
    private let paintable = PicturePaintable()
    private let noLayers: PaintableLayers
    private(set) var slots: [WebButton.State: ImageSlot] = [:]

    init(_ name: String, host: ViewHost) {
        self.name = name
        self.host = host
        noLayers = paintable.layers
        widget = gtk_picture_new_for_paintable(paintable.reference.pointer.opaque)
    }

    /// The slot of a state, made when it is first asked for.
    func slot(for state: WebButton.State) -> ImageSlot {
        if let slot = slots[state] { return slot }
        let surface = PaintedSurface(host: host)
        let slot = ImageSlot(key: "\(name)-\(state.rawValue)", host: host, surface: surface)
        slot.isOnShow = false
        slots[state] = slot
        if host.widget == nil { slot.retire() } else { host.add(slot) }
        surface.layers.contentMode = contentMode
        surface.onContentChange = { [weak self] in self?.update() }
        update()
        return slot
    }

    var contentMode: ImageContentMode? {
        didSet { for slot in slots.values { slot.painted?.layers.contentMode = contentMode } }
    }

    /// The state whose picture is on show.
    private(set) var shownState: WebButton.State?

    /// Shows the picture that suits the widget's state.
    func update() {
        let flags = host.stateFlags
        let applying = WebButton.State.allCases.filter { $0.applies(to: flags) && slots[$0] != nil }
        // Without any content the normal one may have an indicator to show.
        shownState = applying.first { !(slots[$0]?.painted?.layers.top.isEmpty ?? true) } ?? applying.last
        let shown = shownState.flatMap { slots[$0] }
        paintable.layers = shown?.painted?.layers ?? noLayers
        for slot in slots.values { slot.isOnShow = slot === shown }
    }
}
