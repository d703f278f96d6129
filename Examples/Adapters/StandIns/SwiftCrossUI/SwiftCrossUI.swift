// Stands in for SwiftCrossUI and its modules GtkBackend and Gtk at commit f651d7e35648 of stackotter/swift-cross-ui: the
// declarations that an adapter uses, with their signatures, and `Rendered`, which calls them as the framework does.

// The frameworks document their declarations, and some have forced types.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

public import CGTK

// MARK: Gtk

/// Holds a reference to an object, without sinking a floating one.
open class GObject {
    public var gobjectPointer: UnsafeMutablePointer<CGTK.GObject>

    public init<T>(_ pointer: UnsafeMutablePointer<T>?) {
        gobjectPointer = UnsafeMutableRawPointer(pointer!).assumingMemoryBound(to: CGTK.GObject.self)
        g_object_ref(gobjectPointer)
    }

    deinit { g_object_unref(gobjectPointer) }
}

open class Widget: GObject {
    public var widgetPointer: UnsafeMutablePointer<GtkWidget> {
        UnsafeMutableRawPointer(gobjectPointer).assumingMemoryBound(to: GtkWidget.self)
    }

    public func getNaturalSize() -> (width: Int, height: Int) {
        var natural = GtkRequisition()
        gtk_widget_get_preferred_size(widgetPointer, nil, &natural)
        return (Int(natural.width), Int(natural.height))
    }
}

// MARK: SwiftCrossUI

@MainActor public protocol View {
    associatedtype Content: View
    @ViewBuilder var body: Content { get }
}

@resultBuilder public enum ViewBuilder {
    @MainActor public static func buildBlock<View0: View>(_ view0: View0) -> TupleView1<View0> {
        TupleView1(view0: view0)
    }
}

public struct TupleView1<View0: View>: View, Container {
    public let view0: View0
    public var body: Never { return fatalError("a tuple has no body") }
    var content: any View { view0 }
}

@MainActor protocol Container {
    var content: any View { get }
}

extension Never: View {
    public var body: Never { return fatalError("Never has no body") }
}

/// A value that stays when a view is made again.
@propertyWrapper public struct State<Value>: StateProperty {
    private final class Storage {
        var value: Value

        init(_ value: Value) { self.value = value }
    }

    private final class Reference {
        var storage: Storage

        init(_ storage: Storage) { self.storage = storage }
    }

    private let reference: Reference

    public init(wrappedValue: Value) { reference = Reference(Storage(wrappedValue)) }

    public var wrappedValue: Value {
        get { reference.storage.value }
        nonmutating set { reference.storage.value = newValue }
    }

    func restore(from former: Any) {
        if let former = former as? State<Value> { reference.storage = former.reference.storage }
    }
}

protocol StateProperty {
    func restore(from former: Any)
}

public struct EnvironmentValues {}

public struct ProposedViewSize: Hashable, Sendable {
    public var width, height: Double?

    public init(_ width: Double?, _ height: Double?) { (self.width, self.height) = (width, height) }
}

public struct ViewSize: Hashable, Sendable {
    public var width, height: Double

    public init(_ width: Double, _ height: Double) { (self.width, self.height) = (width, height) }
}

// MARK: GtkBackend

public struct GtkWidgetRepresentableContext<Representable: GtkWidgetRepresentable> {
    public let coordinator: Representable.Coordinator
    public internal(set) var environment: EnvironmentValues
}

public protocol GtkWidgetRepresentable: View where Content == Never {
    associatedtype GtkWidgetType: Widget
    associatedtype Coordinator = Void

    @MainActor func makeGtkWidget(context: Context) -> GtkWidgetType
    @MainActor func updateGtkWidget(_ gtkWidget: GtkWidgetType, context: Context)
    @MainActor func makeCoordinator() -> Coordinator
    @MainActor func sizeThatFits(_ proposal: ProposedViewSize, gtkWidget: GtkWidgetType, context: Context) -> ViewSize
    static func dismantleGtkWidget(_ gtkWidget: GtkWidgetType, coordinator: Coordinator)
}

extension GtkWidgetRepresentable {
    public typealias Context = GtkWidgetRepresentableContext<Self>

    public var body: Never { return fatalError("a widget has no body") }

    public static func dismantleGtkWidget(_ gtkWidget: GtkWidgetType, coordinator: Coordinator) {}
}

// MARK: The framework's part

/// A view whose body is a widget, in a hierarchy. A change of state makes the view again, with its former state.
@MainActor public final class Rendered<Root: View> {
    public let container: UnsafeMutablePointer<GtkWidget> = gtk_fixed_new()
    private var root: Root
    private var child: (any Child)?

    public init(_ root: Root, width: Double, height: Double) {
        self.root = root
        update(root, width: width, height: height)
    }

    public func update(_ root: Root, width: Double, height: Double) {
        for (former, new) in zip(Mirror(reflecting: self.root).children, Mirror(reflecting: root).children) {
            (new.value as? any StateProperty)?.restore(from: former.value)
        }
        self.root = root
        let content = (root.body as! any Container).content as! any GtkWidgetRepresentable
        let child = child ?? makeChild(of: content)
        self.child = child
        child.update(width: width, height: height)
    }

    private func makeChild(of view: some GtkWidgetRepresentable) -> any Child {
        let child = RepresentingWidget(view)
        gtk_fixed_put(
            UnsafeMutableRawPointer(container).assumingMemoryBound(to: GtkFixed.self), child.widget.widgetPointer, 0, 0)
        return child
    }
}

@MainActor private protocol Child {
    func update(width: Double, height: Double)
}

/// Makes the widget with the first layout, and updates it with each one: at this commit with its first value, not with
/// that of the new body.
@MainActor private final class RepresentingWidget<Representable: GtkWidgetRepresentable>: Child {
    let view: Representable
    let context: Representable.Context
    let widget: Representable.GtkWidgetType

    init(_ view: Representable) {
        self.view = view
        context = Representable.Context(coordinator: view.makeCoordinator(), environment: EnvironmentValues())
        widget = view.makeGtkWidget(context: context)
    }

    func update(width: Double, height: Double) {
        view.updateGtkWidget(widget, context: context)
        let size = view.sizeThatFits(ProposedViewSize(width, height), gtkWidget: widget, context: context)
        gtk_widget_set_size_request(widget.widgetPointer, gint(size.width), gint(size.height))
    }
}
