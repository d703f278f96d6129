public import CWebImageGTK
internal import Glibc

/// A widget whose layout and drawing are written in Swift. Subclasses override what they need.
///
/// It can be the child of a `GtkScrolledWindow`: it is a `GtkScrollable`, so it decides itself what a position shows. A list
/// of 100,000 images has widgets only for those in sight.
///
///     GtkScrolledWindow ──► adjustments ──► Canvas.layOut(): places `children` for the position
///                                                └─ configureScrolling(): says how large the content is
///
/// The widget owns the canvas.
@MainActor open class Canvas {
    /// The `GtkWidget`, valid during the life of this object.
    public let widget: ObjectPointer
    /// The widgets inside, drawn in this order.
    public private(set) var children: [ObjectPointer] = []
    fileprivate var isInLayout = false
    fileprivate(set) var adjustments: [GtkOrientation.RawValue: ObjectPointer] = [:]
    fileprivate(set) var connections: [GtkOrientation.RawValue: SignalConnection] = [:]

    /// Makes the widget.
    ///
    /// - Parameter role: what the widget is for assistive technologies.
    public init(role: GtkAccessibleRole = GTK_ACCESSIBLE_ROLE_GROUP) {
        var value = GValue()
        g_value_init(&value, gtk_accessible_role_get_type())
        g_value_set_enum(&value, gint(role.rawValue))
        let name = strdup("accessible-role")
        defer { free(name) }
        var names: [UnsafePointer<CChar>?] = [UnsafePointer(name)]
        widget = ObjectPointer(g_object_new_with_properties(CanvasClass.type, 1, &names, &value))
        g_value_unset(&value)
        CanvasClass.key.set(self, on: widget)
    }

    // MARK: For subclasses

    /// The minimum and the natural length in points; 0 by default.
    open func measure(_ orientation: GtkOrientation, for length: Int) -> (least: Int, natural: Int) { (0, 0) }

    /// Whether the height follows from the width.
    open var dependsOnWidth: Bool { false }

    /// Places the children in the size in points. Called by GTK's layout, so it must not change other widgets.
    open func layOut(width: Int, height: Int) {}

    /// Draws below the children.
    open func draw(into snapshot: OpaquePointer) {}

    /// Called when the position has changed, but not by the layout itself; requests a layout.
    open func scrollPositionDidChange() { queueLayout() }

    /// Moves the keyboard focus to the next child, in the order of ``children``. Returns `false` if there is none.
    open func moveFocus(_ direction: GtkDirectionType) -> Bool {
        if gtk_widget_get_focusable(widget.widget) != 0, gtk_widget_is_focus(widget.widget) == 0,
            gtk_widget_get_focus_child(widget.widget) == nil
        {
            return gtk_widget_grab_focus(widget.widget) != 0
        }
        let isBackward = direction == GTK_DIR_TAB_BACKWARD || direction == GTK_DIR_LEFT || direction == GTK_DIR_UP
        var order = isBackward ? children.reversed() : children
        if let current = gtk_widget_get_focus_child(widget.widget),
            let index = order.firstIndex(of: ObjectPointer(current))
        {
            order.removeFirst(index)
        }
        return order.contains { gtk_widget_child_focus($0.widget, direction) != 0 }
    }

    // MARK: Children

    /// Adds a child above the others.
    public func add(_ child: ObjectPointer) {
        gtk_widget_set_parent(child.widget, widget.widget)
        children.append(child)
    }

    /// Removes a child, which is released.
    public func remove(_ child: ObjectPointer) {
        guard let index = children.firstIndex(of: child) else { return }
        children.remove(at: index)
        gtk_widget_unparent(child.widget)
    }

    /// Gives a child its area in points.
    public func place(_ child: ObjectPointer, x: Double, y: Double, width: Int, height: Int) {
        // GTK warns when a child was never measured.
        var least: gint = 0
        gtk_widget_measure(child.widget, GTK_ORIENTATION_HORIZONTAL, -1, &least, nil, nil, nil)
        var point = graphene_point_t(x: Float(x), y: Float(y))
        gtk_widget_allocate(child.widget, gint(width), gint(height), -1, gsk_transform_translate(nil, &point))
    }

    // MARK: State

    /// The width in points; 0 before the first layout.
    public var width: Int { Int(gtk_widget_get_width(widget.widget)) }
    /// The height in points; 0 before the first layout.
    public var height: Int { Int(gtk_widget_get_height(widget.widget)) }

    /// Whether the text runs from right to left, and with it all rows.
    public var isRightToLeft: Bool { gtk_widget_get_direction(widget.widget) == GTK_TEXT_DIR_RTL }

    /// Calls `body` once, before the layout of the next frame.
    public func callBeforeNextFrame(_ body: @escaping @MainActor () -> Void) {
        gtk_widget_add_tick_callback(
            widget.widget,
            { _, _, data in
                if let data { SignalHandler<() -> Void>.with(data) { $0() } }
                return 0
            }, Unmanaged.passRetained(SignalHandler(body)).toOpaque(),
            { data in if let data { Unmanaged<AnyObject>.fromOpaque(data).release() } })
    }

    /// Requests a layout; during one, for the next frame, because GTK would draw before it.
    public func queueLayout() {
        guard isInLayout else { return gtk_widget_queue_allocate(widget.widget) }
        callBeforeNextFrame { [weak self] in self?.queueLayout() }
    }
    /// Requests a drawing.
    public func queueDraw() { gtk_widget_queue_draw(widget.widget) }

    /// The color of text in the current theme.
    public var textColor: GdkRGBA {
        var color = GdkRGBA()
        web_image_widget_get_color(widget.widget, &color)
        return color
    }

    // MARK: Scrolling

    /// The position of the content's edge, in points.
    public func scrollPosition(_ orientation: GtkOrientation) -> Double {
        adjustments[orientation.rawValue].map { gtk_adjustment_get_value($0.as()) } ?? 0
    }

    /// Scrolls to a position in points.
    public func scroll(_ orientation: GtkOrientation, to position: Double) {
        if let adjustment = adjustments[orientation.rawValue] { gtk_adjustment_set_value(adjustment.as(), position) }
    }

    /// Says how long the content is; called from ``layOut(width:height:)``.
    public func configureScrolling(
        _ orientation: GtkOrientation, content: Double, page: Double, position: Double? = nil
    ) {
        guard let adjustment = adjustments[orientation.rawValue] else { return }
        let content = max(content, page)
        let former = gtk_adjustment_get_value(adjustment.as())
        let value = max(0, min(position ?? former, content - page))
        let isSame =
            value == former && content == gtk_adjustment_get_upper(adjustment.as())
            && page == gtk_adjustment_get_page_size(adjustment.as())
        guard !isSame else { return }
        gtk_adjustment_configure(adjustment.as(), value, 0, content, page / 10, page * 0.9, page)
        // The scrollbar has requested a layout during this one. GTK 4.8 may then leave parents marked as waiting for a
        // layout that is not to come, and gtk_widget_queue_allocate stops at such a mark. A resize passes it.
        callBeforeNextFrame { [weak self] in if let self { gtk_widget_queue_resize(widget.widget) } }
    }

    fileprivate func setAdjustment(_ adjustment: ObjectPointer?, _ orientation: GtkOrientation) {
        let key = orientation.rawValue
        if let former = adjustments[key] {
            if let connection = connections[key] { former.disconnect(connection) }
            g_object_unref(former.address)
        }
        adjustments[key] = adjustment
        guard let adjustment else { return connections[key] = nil }
        g_object_ref_sink(adjustment.address)
        connections[key] = adjustment.onSignal("value-changed") { [weak self] in
            if let self, !isInLayout { scrollPositionDidChange() }
        }
        queueLayout()
    }

    fileprivate func dispose() {
        for child in children { gtk_widget_unparent(child.widget) }
        children = []
        for orientation in [GTK_ORIENTATION_HORIZONTAL, GTK_ORIENTATION_VERTICAL] { setAdjustment(nil, orientation) }
    }
}

/// The GObject class of all canvases.
private enum CanvasClass {
    static let key = AssociationKey<Canvas>("web-image-canvas")

    static let type: GType = {
        let type = g_type_register_static_simple(
            gtk_widget_get_type(), "WebImageCanvas", guint(MemoryLayout<GtkWidgetClass>.size),
            { pointer, _ in if let pointer { CanvasClass.initialize(pointer) } },
            guint(MemoryLayout<GtkWidget>.size), nil, GTypeFlags(rawValue: 0))
        var scrollable = GInterfaceInfo(interface_init: nil, interface_finalize: nil, interface_data: nil)
        g_type_add_interface_static(type, gtk_scrollable_get_type(), &scrollable)
        return type
    }()

    private enum Property: guint {
        case horizontal = 1, vertical, horizontalPolicy, verticalPolicy

        var orientation: GtkOrientation? {
            switch self {
            case .horizontal: GTK_ORIENTATION_HORIZONTAL
            case .vertical: GTK_ORIENTATION_VERTICAL
            case .horizontalPolicy, .verticalPolicy: nil
            }
        }
    }

    /// The widget whose class function GTK calls, on the main thread.
    private static func with<Instance, Result: Sendable>(
        _ instance: UnsafeMutablePointer<Instance>?, _ body: @MainActor (Canvas) -> Result
    ) -> Result? {
        guard let instance else { return nil }
        return onMainThread(ObjectPointer(instance)) { key.value(of: $0).map { body($0) } }
    }

    private static func initialize(_ pointer: gpointer) {
        setFunctions(of: pointer.assumingMemoryBound(to: GtkWidgetClass.self))
        let objectClass = pointer.assumingMemoryBound(to: GObjectClass.self)
        setFunctions(of: objectClass)
        for (property, name) in [
            (Property.horizontal, "hadjustment"), (.vertical, "vadjustment"), (.horizontalPolicy, "hscroll-policy"),
            (.verticalPolicy, "vscroll-policy"),
        ] { g_object_class_override_property(objectClass, property.rawValue, name) }
    }

    private static func setFunctions(of widgetClass: UnsafeMutablePointer<GtkWidgetClass>) {
        widgetClass.pointee.measure = { widget, orientation, length, least, natural, _, _ in
            let lengths = CanvasClass.with(widget) { $0.measure(orientation, for: Int(length)) }
            least?.pointee = gint(lengths?.least ?? 0)
            natural?.pointee = gint(max(lengths?.least ?? 0, lengths?.natural ?? 0))
        }
        widgetClass.pointee.get_request_mode = { widget in
            CanvasClass.with(widget) { $0.dependsOnWidth } == true
                ? GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH : GTK_SIZE_REQUEST_CONSTANT_SIZE
        }
        widgetClass.pointee.size_allocate = { widget, width, height, _ in
            _ = CanvasClass.with(widget) { canvas in
                canvas.isInLayout = true
                defer { canvas.isInLayout = false }
                canvas.layOut(width: Int(width), height: Int(height))
            }
        }
        widgetClass.pointee.snapshot = { widget, snapshot in
            nonisolated(unsafe) let snapshot = snapshot  // Stays on the main thread, like the values below.
            _ = CanvasClass.with(widget) { canvas in
                if let snapshot { canvas.draw(into: snapshot) }
                for child in canvas.children {
                    gtk_widget_snapshot_child(canvas.widget.widget, child.widget, snapshot)
                }
            }
        }
        widgetClass.pointee.focus = { widget, direction in
            // The default of a widget with children, which GtkWidget's own class lacks: first itself, then they.
            CanvasClass.with(widget) { $0.moveFocus(direction) } == true ? 1 : 0
        }
    }

    private static func setFunctions(of objectClass: UnsafeMutablePointer<GObjectClass>) {
        objectClass.pointee.set_property = { object, identifier, value, _ in
            guard let orientation = Property(rawValue: identifier)?.orientation, let value else { return }
            nonisolated(unsafe) let adjustment = g_value_get_object(value).map { ObjectPointer($0) }
            _ = CanvasClass.with(object) { $0.setAdjustment(adjustment, orientation) }
        }
        objectClass.pointee.get_property = { object, identifier, value, _ in
            guard let value else { return }
            guard let orientation = Property(rawValue: identifier)?.orientation else {
                return g_value_set_enum(value, gint(GTK_SCROLL_NATURAL.rawValue))
            }
            nonisolated(unsafe) let result = value
            _ = CanvasClass.with(object) {
                g_value_set_object(result, $0.adjustments[orientation.rawValue]?.address)
            }
        }
        objectClass.pointee.dispose = { object in
            _ = CanvasClass.with(object) { $0.dispose() }
            let parent = g_type_class_peek(gtk_widget_get_type())?.assumingMemoryBound(to: GObjectClass.self)
            parent?.pointee.dispose(object)
        }
    }
}
