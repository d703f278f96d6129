import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

/// The bar above the images: a text to search for, and a button with more conditions. Its menus take GTK longer than all else of a window, so
/// they are made when the bar is first opened.
@MainActor final class SearchBar {
    let widget = ObjectPointer(gtk_search_bar_new())
    private let search: PhotoSearch
    private let entry = ObjectPointer(gtk_search_entry_new())
    private let result = ObjectPointer.label("", "caption", "dim-label", "numeric").set("wrap", false)
    private let button = ObjectPointer(gtk_menu_button_new())
    private let popover = ObjectPointer(gtk_popover_new())
    private var openedConditions: SearchConditions?
    /// Whether the text is being set, which is no search.
    private var isSetting = false

    init(_ search: PhotoSearch) {
        self.search = search
        entry.set("placeholder-text", localized("Names, tags, places and cameras")).set("hexpand", true)
            .setAccessibleLabel(localized("Search"))
        button.set("icon-name", "view-more-symbolic").named(localized("More conditions"))
        gtk_menu_button_set_popover(button.opaque, popover.widget)
        let content = ObjectPointer.row(spacing: 6, [entry, button, result]).set("hexpand", true)
        gtk_search_bar_set_child(widget.opaque, ObjectPointer.clamped(content, width: 640).set("hexpand", true).widget)
        gtk_search_bar_connect_entry(widget.opaque, entry.opaque)
        gtk_search_bar_set_show_close_button(widget.opaque, 1)
        entry.onSignal("search-changed") { [weak self] in self?.controlsDidChange() }
        widget.onChange(of: "search-mode-enabled") { [weak self] in self?.modeDidChange() }
        search.onChange = { [weak self] in self?.showResult() }
        search.collection.observe { [weak self] change in
            if change != .shapes { self?.showResult() }
        }
    }

    private var conditions: SearchConditions {
        if let openedConditions { return openedConditions }
        let conditions = SearchConditions()
        conditions.onChange = { [weak self] in self?.controlsDidChange() }
        conditions.onClear = { [weak self] in self?.clear() }
        gtk_popover_set_child(popover.as(), conditions.widget.widget)
        openedConditions = conditions
        return conditions
    }

    // MARK: State

    /// Whether the bar is shown. Without it, all images are.
    var isOpen: Bool {
        get { widget.get("search-mode-enabled") }
        set { widget.set("search-mode-enabled", newValue) }
    }

    /// Shows the bar, and takes the keyboard focus.
    func open() {
        isOpen = true
        gtk_widget_grab_focus(entry.widget)
        gtk_editable_select_region(entry.opaque, 0, -1)
    }

    private func modeDidChange() {
        guard isOpen else { return clear() }
        // The formats that the collection has now.
        conditions.fill(search.formats, chosen: search.filter.format)
        // Tags and places are found with the first key then.
        search.index.isActive = true
        showResult()
    }

    /// Shows all images again.
    func clear() {
        isSetting = true
        entry.set("text", "")
        openedConditions?.clear()
        isSetting = false
        controlsDidChange()
    }

    private func controlsDidChange() {
        guard !isSetting else { return }
        var filter = SearchFilter()
        filter.text = entry.get("text")
        openedConditions?.apply(to: &filter)
        search.filter = filter
        button.setStyle("accent", filter.conditionCount > 0)
        showResult()
    }

    private func showResult() { result.text = search.isActive || search.index.leftCount > 0 ? search.resultText : "" }

    /// Sets a condition as the user does, for tests.
    func choose(stars count: Int) { conditions.choose(stars: count) }
    func write(_ text: String) { entry.set("text", text) }
    var resultText: String { result.text }
}
