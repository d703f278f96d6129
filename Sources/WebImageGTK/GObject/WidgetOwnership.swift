internal import CWebImageGTK

/// A widget's ownership of its view, the Swift object that stands for it.
///
/// The widget owns the view until it is destroyed. From then on the view, if anybody has it still, keeps the empty widget, so that
/// its pointer never dangles.
@MainActor package final class WidgetOwnership<View: AnyObject> {
    private let widget: ObjectPointer
    private let key: AssociationKey<View>
    /// Whether ownership has turned round.
    package private(set) var isWidgetDestroyed = false

    package init(of widget: ObjectPointer, under key: AssociationKey<View>) {
        self.widget = widget
        self.key = key
    }

    isolated deinit { if isWidgetDestroyed { g_object_unref(widget.address) } }

    /// Gives `view` to the widget, in place of one that it has.
    ///
    /// - Parameter onDestroy: called once, when the widget is destroyed and before it lets go of the view.
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
