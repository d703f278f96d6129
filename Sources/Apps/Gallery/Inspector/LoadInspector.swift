import CWebImageAdwaita
import CWebImageGTK
import FoundationEssentials
import GTKObjects
import WebImageGTK

/// A pane that shows how the image of a URL was loaded, and what the caches and the file have to say about it.
///
/// It follows the newest load of the URL while it is on screen.
@MainActor final class LoadInspector {
    /// A letter i in a circle. Themes have a light bulb, among others, as `dialog-information-symbolic`.
    static let iconName = "help-about-symbolic"

    let widget: ObjectPointer
    var onClose: () -> Void = {}
    /// Called to load the image again in the views that show it, with this policy. Returns whether there is one.
    var onReload: (_ url: URL, _ policy: CachePolicy) -> Bool = { _, _ in false }

    private let session: GallerySession
    private let stack = ObjectPointer(gtk_stack_new()).expanding()
    private let content = ObjectPointer.column(spacing: 18).margins(12)
    private let address = ObjectPointer.label("", "caption").set("selectable", true)
    private let name = ObjectPointer.label("", "title-4")
    private let photographPlace = ObjectPointer.column()
    let marks: MarksView
    let histogram: HistogramView
    private let summary = ObjectPointer.label("", "heading")
    private let result = ObjectPointer.label("", "caption")
    private let failurePlace = ObjectPointer.column()
    private let timelinePlace = ObjectPointer.column()
    private let groupsPlace = ObjectPointer.column(spacing: 18)
    private var reloadButtons: [ObjectPointer] = []

    private(set) var url: URL?
    private(set) var inspection: LoadInspection?
    private var timeline: TraceTimeline?
    private var photograph: FactGroup?
    private var failure: FactGroup?
    private var views: [FactGroupView] = []
    /// No widget is changed off screen, where the window may be gone.
    private var isOnScreen = false
    private var reading: Task<Void, Never>?
    /// Ends the time in which a change of the image is one of several.
    private var pause: MainLoopCall?
    /// Whether the pane waits for the last of several images.
    private var isWaiting = false
    /// The load that the user has requested.
    private var request: (policy: CachePolicy, date: Date)?

    init(session: GallerySession) {
        self.session = session
        (marks, histogram) = (MarksView(session: session), HistogramView(session: session))
        let header = ObjectPointer(adw_header_bar_new()).set("show-start-title-buttons", false).set(
            "show-end-title-buttons", false)
        adw_header_bar_set_title_widget(header.opaque, adw_window_title_new(localized("Inspector"), ""))
        widget = SidePane(.column([header, stack])).widget
        // In narrow windows it is in front of the image.
        widget.style("background").setAccessibleLabel(localized("Inspector"))
        let close = ObjectPointer.iconButton("window-close-symbolic", localized("Close the inspector")) { [weak self] in
            self?.onClose()
        }
        let menu = ObjectPointer.menuButton(
            "view-more-symbolic", localized("Menu for developers"),
            .menu([
                [
                    (localized("Learn the library"), "win.page-learn"),
                    (localized("Statistics of loads"), "win.page-statistics"),
                ],
                [(localized("Clear caches"), "win.clear-caches")],
            ]))
        for part in [close, menu] { adw_header_bar_pack_end(header.opaque, part.widget) }
        let empty = ObjectPointer(adw_status_page_new()).set("icon-name", Self.iconName)
            .set("title", localized("No image selected")).set(
                "description", localized("Select an image to see how it was loaded."))
        empty.style("compact")
        gtk_stack_add_named(stack.opaque, empty.widget, "empty")
        gtk_stack_add_named(stack.opaque, ObjectPointer.scrolling(content).widget, "content")
        for part in [
            name, marks.widget, photographPlace, histogram.widget,
            ObjectPointer.column(spacing: 6, [summary, address]), failurePlace, groupsPlace,
            timelinePlace,
            makeButtons(),
        ] { content.append(part) }
        result.isVisible = false
        session.loads.observe { [weak self] in self?.loadsDidChange() }
        widget.onSignal("map") { [weak self] in
            self?.isOnScreen = true
            self?.refresh()
        }
        widget.onSignal("unmap") { [weak self] in
            self?.isOnScreen = false
            self?.reading?.cancel()
            self?.histogram.stop()
            self?.marks.stop()
        }
    }

    private func makeButtons() -> ObjectPointer {
        let grid = ObjectPointer(gtk_grid_new()).set("column-homogeneous", true).set("row-spacing", 6).set(
            "column-spacing", 6)
        reloadButtons = [
            .button(localized("Re_validate")) { [weak self] in self?.reload(.refresh) },
            .button(localized("Rel_oad")) { [weak self] in self?.reload(.reload) },
        ]
        gtk_widget_set_tooltip_text(reloadButtons[0].widget, localized("Revalidate the stored image with its server"))
        gtk_widget_set_tooltip_text(
            reloadButtons[1].widget, localized("Load the image from the server, past all caches"))
        let others = [
            ObjectPointer.button(localized("Re_move")) { [weak self] in self?.removeFromCache() },
            ObjectPointer.button(localized("_Copy trace")) { [weak self] in self?.copyTrace() },
        ]
        gtk_widget_set_tooltip_text(others[0].widget, localized("Remove the image from memory and from the disk cache"))
        gtk_widget_set_tooltip_text(others[1].widget, localized("Copy all that is shown here as text"))
        for (index, button) in (reloadButtons + others).enumerated() {
            // In narrow panes the text wraps instead of widening the pane.
            if let label = gtk_button_get_child(button.as()) {
                gtk_label_set_ellipsize(ObjectPointer(label).opaque, PANGO_ELLIPSIZE_END)
            }
            button.set("hexpand", true)
            gtk_grid_attach(grid.as(), button.widget, gint(index % 2), gint(index / 2), 1, 1)
        }
        return .column(spacing: 6, [grid, result])
    }

    // MARK: Showing

    /// Shows the newest load of a URL; `nil` for none.
    func show(_ url: URL?) {
        guard url != self.url else { return }
        self.url = url
        reading?.cancel()
        (inspection, request) = (nil, nil)
        showResult("")
        gtk_stack_set_visible_child_name(stack.opaque, url == nil ? "empty" : "content")
        // The first image is shown at once. While the user moves on, the pane is not rebuilt for each.
        isWaiting = pause != nil
        pause = .after(milliseconds: Self.pauseMilliseconds) { [weak self] in
            guard let self else { return }
            pause = nil
            if isWaiting { refresh() }
        }
        if !isWaiting { refresh() }
    }

    private static let pauseMilliseconds: UInt32 = 150

    private func loadsDidChange() {
        guard let url, isOnScreen, !isWaiting, let record = session.loads.record(of: url),
            record.date != inspection?.record?.date
        else { return }
        refresh()
        guard let request, record.policy == request.policy, record.start >= request.date else { return }
        self.request = nil
        showResult(LoadInspection.result(of: record))
    }

    /// Shows what is known at once, then what the disk has.
    private func refresh() {
        isWaiting = false
        guard let url, isOnScreen else { return }
        histogram.show(url)
        marks.show(url)
        var inspection = LoadInspection(of: url, in: session.loads.records)
        // Until it is read again.
        if let former = self.inspection, former.url == url {
            (inspection.entry, inspection.file, inspection.size) = (former.entry, former.file, former.size)
        }
        present(inspection)
        reading?.cancel()
        let key = inspection.record?.cacheKey ?? session.manager.cacheKey(for: WebImageRequest(url))
        reading = Task { [weak self, session] in
            let entry = await CacheEntry(for: key, in: session.cache)
            let file = await OriginalReader.finding(url, key, in: session.manager)
            guard !Task.isCancelled, let self, self.url == url, isOnScreen else { return }
            // The trace may have grown meanwhile.
            inspection = LoadInspection(of: url, in: session.loads.records)
            inspection.entry = entry
            inspection.size = file?.size
            inspection.file =
                file?.groups ?? [
                    FactGroup(
                        title: localized("File"), description: localized("The original file is not in the cache."))
                ]
            present(inspection)
            reading = nil
        }
    }

    private func present(_ inspection: LoadInspection) {
        self.inspection = inspection
        let record = inspection.record
        name.text = inspection.url.displayName
        address.text = inspection.url.locationText
        // Lines break between the parts.
        summary.text = (inspection.summary ?? localized("Not loaded yet")).split(separator: " · ")
            .map { $0.replacing(" ", with: "\u{A0}") }.joined(separator: "\u{A0}· ")
        let isRemote = !inspection.url.isFileURL
        for button in reloadButtons {
            gtk_widget_set_sensitive(button.widget, isRemote || button == reloadButtons[1] ? 1 : 0)
        }

        let timeline = inspection.timeline
        if timeline != self.timeline {
            self.timeline = timeline
            Self.fill(timelinePlace, with: [timeline.map { TraceChart($0).widget }].compactMap(\.self))
        }
        let failure = record.flatMap { LoadFacts.failure($0.error, attempts: $0.attempts) }
        if failure != self.failure {
            self.failure = failure
            Self.fill(failurePlace, with: [failure.map { FactGroupView($0).widget }].compactMap(\.self))
        }
        let photograph = inspection.photograph
        if photograph != self.photograph {
            self.photograph = photograph
            Self.fill(photographPlace, with: [photograph.map { FactGroupView($0).widget }].compactMap(\.self))
        }
        for (place, isUsed) in [
            (timelinePlace, timeline != nil), (failurePlace, failure != nil), (photographPlace, photograph != nil),
        ] { place.isVisible = isUsed }
        showGroups(inspection.groups(now: Date()))
    }

    /// Makes widgets only for groups that have changed, so that others stay opened and focused.
    private func showGroups(_ groups: [FactGroup]) {
        var former = views
        var previous: ObjectPointer?
        views = groups.map { group in
            let view: FactGroupView
            if let index = former.firstIndex(where: { $0.group == group }) {
                view = former.remove(at: index)
                gtk_box_reorder_child_after(groupsPlace.as(), view.widget.widget, previous?.widget)
            } else {
                view = FactGroupView(group)
                gtk_box_insert_child_after(groupsPlace.as(), view.widget.widget, previous?.widget)
            }
            previous = view.widget
            return view
        }
        for view in former { gtk_box_remove(groupsPlace.as(), view.widget.widget) }
    }

    private static func fill(_ place: ObjectPointer, with children: [ObjectPointer]) {
        while let child = gtk_widget_get_first_child(place.widget) { gtk_box_remove(place.as(), child) }
        for child in children { place.append(child) }
    }

    // MARK: Actions

    /// Loads the image again, in the views that show it or else without one.
    func reload(_ policy: CachePolicy) {
        guard let url else { return }
        request = (policy, Date())
        showResult(policy == .refresh ? localized("Revalidating…") : localized("Loading…"))
        guard !onReload(url, policy) else { return }
        let request = WebImageRequest(url, options: .ignoreDecoding, cachePolicy: policy)
        // The log tells when it has ended.
        _ = session.manager.load(request)
    }

    /// Removes the image from memory and disk. Views keep what they show.
    func removeFromCache() {
        guard let url else { return }
        showResult(localized("Removing…"))
        Task { [weak self, session] in
            await session.removeImages(of: url)
            guard let self, self.url == url, isOnScreen else { return }
            showResult(localized("Removed from memory and disk."))
            refresh()
        }
    }

    func copyTrace() {
        guard let inspection else { return }
        Clipboard.copy(inspection.text(now: Date()), of: widget)
        showResult(localized("The trace is on the clipboard."))
    }

    /// The result of the last action, for tests; empty for none.
    var resultText: String { result.text }

    /// - Parameter text: empty for none.
    private func showResult(_ text: String) {
        result.text = text
        result.isVisible = !text.isEmpty
    }
}

/// A child with a width of its own: however long its texts are, it is not wider.
@MainActor private final class SidePane: Canvas {
    private let child: ObjectPointer

    init(_ child: ObjectPointer) {
        self.child = child
        super.init()
        add(child)
    }

    override func measure(_ orientation: GtkOrientation, for length: Int) -> (least: Int, natural: Int) {
        guard orientation == GTK_ORIENTATION_VERTICAL else { return (300, 360) }
        var (least, natural): (gint, gint) = (0, 0)
        gtk_widget_measure(child.widget, orientation, gint(length), &least, &natural, nil, nil)
        return (Int(least), Int(natural))
    }

    override func layOut(width: Int, height: Int) { place(child, x: 0, y: 0, width: width, height: height) }
}
