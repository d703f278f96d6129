public import CWebImageGTK

/// The address of a GObject of any class, not retained. Its Swift type in C functions depends on whether the header has
/// the fields of the class.
public struct ObjectPointer: Hashable {
    /// The address.
    public let address: UnsafeMutableRawPointer

    /// Takes an address.
    public init(_ address: UnsafeMutableRawPointer) { self.address = address }
    /// Takes the pointer of a class with hidden fields.
    public init(_ pointer: OpaquePointer) { address = UnsafeMutableRawPointer(pointer) }
    /// Takes the pointer of a class whose header has its fields.
    public init<Instance>(_ pointer: UnsafeMutablePointer<Instance>) { address = UnsafeMutableRawPointer(pointer) }

    /// The pointer for classes with hidden fields, such as `GtkPicture` and `GdkTexture`, and for interfaces.
    public var opaque: OpaquePointer { OpaquePointer(address) }
    /// The pointer for functions of GObject.
    public var object: UnsafeMutablePointer<GObject> { address.assumingMemoryBound(to: GObject.self) }
    /// The pointer for functions of widgets.
    public var widget: UnsafeMutablePointer<GtkWidget> { address.assumingMemoryBound(to: GtkWidget.self) }

    /// The pointer as the type of a C function's argument, for classes whose fields are public.
    public func `as`<Instance>(_ type: Instance.Type = Instance.self) -> UnsafeMutablePointer<Instance> {
        address.assumingMemoryBound(to: Instance.self)
    }

    /// Whether the object is an instance of a class or a subclass.
    public func isInstance(of type: GType) -> Bool {
        g_type_check_instance_is_a(address.assumingMemoryBound(to: GTypeInstance.self), type) != 0
    }
}

/// A strong reference to a GObject. It is released on the main thread, because the renderer tracks textures without a
/// lock.
@MainActor package final class ObjectReference {
    package let pointer: ObjectPointer

    /// Takes over a reference that the caller owns, such as one from a `…_new` function.
    package init(owning pointer: ObjectPointer) { self.pointer = pointer }

    /// Adds a reference, or takes over a floating one.
    package init(retaining pointer: ObjectPointer) {
        g_object_ref_sink(pointer.address)
        self.pointer = pointer
    }

    isolated deinit { g_object_unref(pointer.address) }
}

/// The name under which a GObject owns a Swift object.
public struct AssociationKey<Value: AnyObject>: Sendable {
    private let quark: GQuark

    /// Names an association, once for each kind of value.
    public init(_ name: String) { quark = g_quark_from_string(name) }

    /// Returns the value that `object` owns; `nil` if there is none.
    public func value(of object: ObjectPointer) -> Value? {
        g_object_get_qdata(object.object, quark).map { Unmanaged<Value>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Makes `object` own `value` and release an earlier value; `nil` only releases.
    @MainActor public func set(_ value: Value?, on object: ObjectPointer) {
        guard let value else {
            g_object_set_qdata(object.object, quark, nil)
            return
        }
        g_object_set_qdata_full(object.object, quark, Unmanaged.passRetained(value).toOpaque()) { data in
            if let data { Unmanaged<AnyObject>.fromOpaque(data).release() }
        }
    }
}

/// A widget's ownership of its view, the Swift object that wraps it.
///
/// The widget owns the view until the widget is destroyed. After that, a view that is still referenced retains the
/// empty widget, so that its pointer stays valid.
@MainActor package final class WidgetOwnership<View: AnyObject> {
    private let widget: ObjectPointer
    private let key: AssociationKey<View>
    /// Whether the view retains the widget.
    package private(set) var isWidgetDestroyed = false

    package init(of widget: ObjectPointer, under key: AssociationKey<View>) {
        self.widget = widget
        self.key = key
    }

    isolated deinit { if isWidgetDestroyed { g_object_unref(widget.address) } }

    /// Makes the widget own `view` and release an earlier view.
    ///
    /// - Parameter onDestroy: called once, when the widget is destroyed and before it releases the view.
    package func begin(with view: View, onDestroy: @escaping @MainActor () -> Void = {}) {
        key.set(view, on: widget)
        widget.onSignal("destroy") { [weak self, weak view] in
            guard let self, !isWidgetDestroyed else { return }
            isWidgetDestroyed = true
            g_object_ref(widget.address)
            onDestroy()
            if let view, key.value(of: widget) === view { key.set(nil, on: widget) }
        }
    }
}

extension ObjectPointer {
    /// Calls `body` whenever the object emits `signal`, which has no arguments, until the object is disposed.
    @MainActor @discardableResult
    public func onSignal(_ signal: String, _ body: @escaping @MainActor () -> Void) -> SignalConnection {
        let trampoline: @convention(c) (gpointer, gpointer) -> Void = { _, data in
            SignalHandler<() -> Void>.with(data) { $0() }
        }
        return connect(signal, SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` with the object that is the only argument of `signal`.
    @MainActor @discardableResult
    public func onSignal(_ signal: String, _ body: @escaping @MainActor (ObjectPointer) -> Void) -> SignalConnection {
        let trampoline: @convention(c) (gpointer, gpointer, gpointer) -> Void = { _, argument, data in
            let argument = ObjectPointer(argument)
            SignalHandler<(ObjectPointer) -> Void>.with(data) { $0(argument) }
        }
        return connect(signal, SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` with the number, flags or enumeration case that is the only argument of `signal`.
    @MainActor @discardableResult
    public func onSignal(_ signal: String, _ body: @escaping @MainActor (UInt32) -> Void) -> SignalConnection {
        let trampoline: @convention(c) (gpointer, guint, gpointer) -> Void = { _, argument, data in
            SignalHandler<(UInt32) -> Void>.with(data) { $0(argument) }
        }
        return connect(signal, SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` whenever the object, a `GtkGestureClick`, recognizes a click or tap.
    @MainActor public func onClick(_ body: @escaping @MainActor () -> Void) {
        let trampoline: @convention(c) (gpointer, gint, Double, Double, gpointer) -> Void = { _, _, _, _, data in
            SignalHandler<() -> Void>.with(data) { $0() }
        }
        connect("released", SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` when a `GtkDragSource` may begin a drag. `body` returns a content provider, which the source takes over,
    /// or `nil` for no drag.
    @MainActor public func onPrepare(_ body: @escaping @MainActor () -> UnsafeMutablePointer<GdkContentProvider>?) {
        let trampoline: @convention(c) (gpointer, Double, Double, gpointer) -> UnsafeMutableRawPointer? = {
            _, _, _, data in
            UnsafeMutableRawPointer(
                bitPattern: SignalHandler<() -> UnsafeMutablePointer<GdkContentProvider>?>.with(data) {
                    UInt(bitPattern: $0())
                })
        }
        connect("prepare", SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` whenever `property` may have changed.
    @MainActor @discardableResult
    public func onChange(of property: String, _ body: @escaping @MainActor () -> Void) -> SignalConnection {
        onSignal("notify::\(property)") { (_: ObjectPointer) in body() }
    }

    /// Disconnects a signal before the object is disposed.
    @MainActor public func disconnect(_ connection: SignalConnection) {
        // Some objects lose their handlers earlier, such as the frame clock of a window that was destroyed.
        guard g_signal_handler_is_connected(address, connection.number) != 0 else { return }
        g_signal_handler_disconnect(address, connection.number)
    }

    /// Connects a signal to a C function that gets `handler` as its last argument. The connection owns `handler`.
    @discardableResult
    public func connect(_ signal: String, _ handler: AnyObject, _ callback: @escaping GCallback) -> SignalConnection {
        SignalConnection(
            number: g_signal_connect_data(
                address, signal, callback, Unmanaged.passRetained(handler).toOpaque(),
                { data, _ in if let data { Unmanaged<AnyObject>.fromOpaque(data).release() } },
                GConnectFlags(rawValue: 0)))
    }
}

/// A connection from a signal to a closure.
public struct SignalConnection: Sendable {
    fileprivate let number: UInt
}

extension ObjectPointer {
    /// Sets the label of a widget for assistive technologies; `nil` removes it.
    @MainActor public func setAccessibleLabel(_ label: String?) { setAccessible(GTK_ACCESSIBLE_PROPERTY_LABEL, label) }

    /// Sets a text for assistive technologies; `nil` removes it.
    @MainActor public func setAccessible(_ property: GtkAccessibleProperty, _ text: String?) {
        guard let text else { return gtk_accessible_reset_property(opaque, property) }
        var property = property
        var value = GValue()
        gtk_accessible_property_init_value(property, &value)
        g_value_set_string(&value, text)
        gtk_accessible_update_property_value(opaque, 1, &property, &value)
        g_value_unset(&value)
    }

    /// Sets for assistive technologies whether a widget is selected.
    @MainActor public func setAccessibleSelected(_ isSelected: Bool) {
        var state = GTK_ACCESSIBLE_STATE_SELECTED
        var value = GValue()
        gtk_accessible_state_init_value(state, &value)
        g_value_set_int(&value, isSelected ? 1 : 0)
        gtk_accessible_update_state_value(opaque, 1, &state, &value)
        g_value_unset(&value)
    }
}
