// Stands in for SwiftGtk and its module GLibObject at commit 3e896d127da4 (branch gtk4-monorepo) of rhx/SwiftGtk: the
// declarations that an adapter uses, with the signatures that gir2swift 18.0.0 generates. The classes are not isolated.

// The frameworks document their declarations, and some have forced types.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

public import CGTK

/// Owns a reference to an object. It takes over the one that its creator has, or adds one.
open class Object {
    public let ptr: UnsafeMutableRawPointer!

    public required init(raw p: UnsafeMutableRawPointer) { ptr = p }

    public required init(retainingRaw raw: UnsafeMutableRawPointer) {
        ptr = raw
        g_object_ref(raw)
    }

    deinit { g_object_unref(ptr) }

    @discardableResult public func refSink() -> UnsafeMutableRawPointer! { g_object_ref_sink(ptr) }
}

open class InitiallyUnowned: Object {}

open class Widget: InitiallyUnowned {
    public var widget_ptr: UnsafeMutablePointer<GtkWidget>! { ptr?.assumingMemoryBound(to: GtkWidget.self) }
}
