internal import CWebImageGTK
internal import GTKObjects

/// When a lazy slot loads: while its widget is mapped, and less than a page away from the visible area of each scrolled
/// window around it.
extension ViewHost {
    /// What is known of the widget's place in scrolled windows.
    struct Place {
        /// Changes when the widget leaves the screen, or waits for another moment.
        var number = 0
        /// Whether there was a layout since the widget was mapped.
        var isKnown = false
        /// Whether a watch looks at the widget again.
        var isAwaited = false
    }

    /// What is between a lazy slot and its load.
    private enum Obstacle {
        case unmapped
        /// The widget is new in a scrolled window.
        case layout(ScrollWatch)
        case distance(Double, ScrollWatch)
    }

    /// Whether a lazy slot may load now.
    var isNear: Bool { obstacle(isInList: isInList) == nil }

    /// Whether the widget is in a cell of a `GtkListView` or `GtkGridView`, which binds only the items near its visible
    /// area.
    private var isInList: Bool {
        guard let widget else { return false }
        return gtk_widget_get_ancestor(widget, gtk_list_view_get_type()) != nil
            || gtk_widget_get_ancestor(widget, gtk_grid_view_get_type()) != nil
    }

    private func obstacle(isInList: Bool) -> Obstacle? {
        guard let widget, !isInList else { return nil }
        guard gtk_widget_get_mapped(widget) != 0 else { return .unmapped }
        for watch in scrollWatches {
            guard place.isKnown else { return .layout(watch) }
            let distance = watch.distance(to: widget)
            if distance > 0 { return .distance(distance, watch) }
        }
        return nil
    }

    /// Of the scrolled windows around the widget in its own surface, the nearest first.
    private var scrollWatches: [ScrollWatch] {
        var watches: [ScrollWatch] = []
        var next = widget
        while let ancestor = next.map({ ObjectPointer($0) }), !ancestor.isInstance(of: gtk_native_get_type()) {
            if ancestor.isInstance(of: gtk_scrolled_window_get_type()) { watches.append(ScrollWatch.of(ancestor)) }
            next = gtk_widget_get_parent(ancestor.widget)
        }
        return watches
    }

    /// Resumes the lazy slots once the widget is near. Does nothing while it is not mapped, because that calls this
    /// again.
    func awaitPlace() { if !place.isAwaited { checkPlace() } }

    /// Resumes the lazy slots if the widget is near, or else waits again.
    func checkPlace() {
        place.isAwaited = false
        guard slots.values.contains(where: \.isWaitingForPlace) else { return }
        switch obstacle(isInList: isInList) {
        case nil:
            for slot in slots.values where slot.isWaitingForPlace { slot.resume() }
        case .unmapped:
            break
        case .layout(let watch):
            renumberPlace()
            watch.awaitLayout(of: self)
        case .distance(let distance, let watch):
            renumberPlace()
            watch.wait(for: self, distance: distance)
        }
    }

    private func renumberPlace() {
        place.number += 1
        place.isAwaited = true
    }

    /// Pauses the loads of lazy slots once the widget is far away.
    func followPlace() { for watch in scrollWatches { watch.follow(self) } }

    func didLayOut() {
        place.isKnown = true
        checkPlace()
    }

    /// Pauses the loads in progress if the widget has moved far away.
    ///
    /// - Returns: whether to look again.
    func checkDistance() -> Bool {
        guard slots.values.contains(where: \.isLoadingNear) else { return false }
        guard case .distance? = obstacle(isInList: isInList) else { return true }
        for slot in slots.values where slot.isLoadingNear { slot.pauseLoading() }
        checkPlace()
        return false
    }

    /// The widget has left the screen, and may be elsewhere when it returns.
    func placeIsUnknown() {
        place.number += 1
        (place.isKnown, place.isAwaited) = (false, false)
    }
}
