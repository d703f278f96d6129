// Stands in for swift-adwaita at commits 008e5fb9ee35 (GObjectSupport) and 008aea791c3a (Widget) of makoni/swift-adwaita:
// the declarations that an adapter uses, with their signatures.

// The frameworks document their declarations, and some have forced types.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

public import CGTK

/// Owns a reference to an object. A floating one is sunk.
@MainActor open class GObjectRef {
    public nonisolated(unsafe) let pointer: UnsafeMutableRawPointer

    public required init(raw pointer: UnsafeMutableRawPointer) {
        self.pointer = pointer
        if g_object_is_floating(pointer) != 0 { g_object_ref_sink(pointer) }
    }

    isolated deinit { g_object_unref(pointer) }

    public func castedPointer<T>() -> UnsafeMutablePointer<T> { pointer.assumingMemoryBound(to: T.self) }
}

@MainActor open class Widget: GObjectRef {
    public var widgetPointer: UnsafeMutablePointer<GtkWidget> { castedPointer() }
}
