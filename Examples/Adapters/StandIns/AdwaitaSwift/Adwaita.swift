// Stands in for Adwaita for Swift at commit c8376967ff57 of AparokshaUI/adwaita-swift, and for its foundation Meta at
// commit 3798666f6e84: the declarations that an adapter uses, with their signatures, and `Rendered`, which calls them
// as the framework does. The framework is not isolated: it calls views on the main thread without saying so.

// The frameworks document their declarations, and some have forced types.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

public import CGTK

// MARK: Meta

public protocol AnyView {}

public protocol Widget: AnyView {
    func container<Data>(data: WidgetData, type: Data.Type) -> ViewStorage where Data: ViewRenderData
    func update<Data>(_ storage: ViewStorage, data: WidgetData, updateProperties: Bool, type: Data.Type)
    where Data: ViewRenderData
}

public protocol ViewRenderData {
    associatedtype WidgetType
}

/// What the framework keeps of a view.
public class ViewStorage {
    public var pointer: Any?
    public var fields: [String: Any] = [:]
    public var previousState: Widget?

    public var opaquePointer: OpaquePointer? {
        get { pointer as? OpaquePointer }
        set { pointer = newValue }
    }

    public init(_ pointer: Any?, state: Widget? = nil) {
        self.pointer = pointer
        previousState = state
    }
}

public struct WidgetData {
    public var fields: [String: Any] = [:]
}

// MARK: Adwaita

public protocol AdwaitaWidget: Widget {}

// MARK: The framework's part

/// A view in a hierarchy. After a change of state the framework makes the views again, and updates their storages.
public final class Rendered {
    private enum RenderData: ViewRenderData { typealias WidgetType = AdwaitaWidget }

    public let container: UnsafeMutablePointer<GtkWidget>
    private let storage: ViewStorage

    public init(_ view: some AdwaitaWidget) {
        storage = view.container(data: WidgetData(), type: RenderData.self)
        container = UnsafeMutablePointer(storage.opaquePointer!)
    }

    /// - Parameter updateProperties: whether the state of a view has changed; otherwise only closures have.
    public func update(_ view: some AdwaitaWidget, updateProperties: Bool = true) {
        view.update(storage, data: WidgetData(), updateProperties: updateProperties, type: RenderData.self)
    }
}
