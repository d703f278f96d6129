internal import CWebImageGTK
internal import GTKObjects

/// Tells whether a `GtkScrolledWindow` is being scrolled, and which views have come near its visible area. The widget
/// owns it.
///
/// Views wait in an order of distances, so that each step of scrolling looks only at those it may have reached. All of
/// them are looked at again soon after another layout, which may have moved any of them, and when scrolling has ended.
@MainActor final class ScrollWatch {
    /// Returns the watch of a `GtkScrolledWindow`, which is made on first use.
    static func of(_ scrolledWindow: ObjectPointer) -> ScrollWatch {
        if let watch = key.value(of: scrolledWindow) { return watch }
        let watch = ScrollWatch(scrolledWindow)
        key.set(watch, on: scrolledWindow)
        return watch
    }

    /// Returns the watch of the nearest scrolled window around `widget`; `nil` if there is none.
    static func around(_ widget: UnsafeMutablePointer<GtkWidget>) -> ScrollWatch? {
        gtk_widget_get_ancestor(widget, gtk_scrolled_window_get_type()).map { of(ObjectPointer($0)) }
    }

    private static let key = AssociationKey<ScrollWatch>("web-image-scroll-watch")

    /// How long nothing must have moved until scrolling counts as ended; about nine frames.
    static let restMilliseconds: UInt32 = 150
    /// How long after a layout the distances of all views are measured again.
    private static let remeasureMilliseconds: UInt32 = 100
    private static let measuredAtOnce = 256
    /// The range of distances that are looked at together, in points.
    private static let rangeLength = 128.0

    /// Not retained, because it owns this object.
    private let scrolledWindow: ObjectPointer
    private let adjustments: [ObjectPointer]
    private var values: [Double]
    private var restCall: MainLoopCall?
    private var waiting: [@MainActor () -> Void] = []

    /// How far the content has moved so far, in points.
    private var travelled = 0.0
    private var hasScrolled = false
    /// The views without a layout.
    private var newcomers: [Entry] = []
    /// The views out of reach, by the range of ``travelled`` in which they may come near.
    private var distant: [Int: [Entry]] = [:]
    /// The first range that has not been looked at.
    private var nextRange = 0
    /// The views near the visible area whose loads are in progress.
    private var followed: [ObjectIdentifier: Entry] = [:]
    private var remeasureCall: MainLoopCall?
    /// The views whose distances are being measured again.
    private var unmeasured: ArraySlice<Entry> = []
    /// Whether there was another layout since that began.
    private var isOutdated = false
    /// How many distances were measured, for tests.
    private(set) var measuredCount = 0
    private var clock: ObjectReference?
    private var layoutConnection: SignalConnection?

    /// A view that waits, or a call for it that is out of date if its number is another.
    private struct Entry {
        weak var host: ViewHost?
        let number: Int

        @MainActor init(_ host: ViewHost) { (self.host, number) = (host, host.place.number) }

        @MainActor var current: ViewHost? { host?.place.number == number ? host : nil }
    }

    private init(_ scrolledWindow: ObjectPointer) {
        self.scrolledWindow = scrolledWindow
        adjustments = [
            gtk_scrolled_window_get_hadjustment(scrolledWindow.opaque),
            gtk_scrolled_window_get_vadjustment(scrolledWindow.opaque),
        ].compactMap { $0.map { ObjectPointer($0) } }
        values = []
        values = currentValues
        for adjustment in adjustments {
            adjustment.onSignal("value-changed") { [weak self] in self?.didScroll() }
        }
    }

    isolated deinit { disconnect() }

    // MARK: Scrolling

    var isScrolling: Bool { restCall != nil }

    /// Calls `body` once, later, after scrolling has ended.
    func whenAtRest(_ body: @escaping @MainActor () -> Void) {
        waiting.append(body)
        if restCall == nil { startRest() }
    }

    private var currentValues: [Double] {
        adjustments.map { gtk_adjustment_get_value($0.address.assumingMemoryBound(to: GtkAdjustment.self)) }
    }

    private func didScroll() {
        let values = currentValues
        travelled += zip(values, self.values).reduce(0) { $0 + abs($1.0 - $1.1) }
        self.values = values
        hasScrolled = true
        startRest()
    }

    private func startRest() {
        restCall = MainLoopCall.after(milliseconds: Self.restMilliseconds) { [weak self] in self?.didRest() }
    }

    private func didRest() {
        restCall = nil
        remeasureSoon()
        let bodies = waiting
        waiting = []
        for body in bodies { body() }
    }

    // MARK: Views that wait

    /// How far the content has to move at least until `widget` is less than a page away from the visible area; 0 if it
    /// is.
    func distance(to widget: UnsafeMutablePointer<GtkWidget>) -> Double {
        measuredCount += 1
        var bounds = graphene_rect_t()
        guard gtk_widget_compute_bounds(widget, scrolledWindow.widget, &bounds) != 0 else { return 0 }
        func distance(_ start: Float, _ length: Float, _ page: gint) -> Double {
            max(0, Double(start) - 2 * Double(page), -Double(page) - Double(start + length))
        }
        return max(
            distance(bounds.origin.x, bounds.size.width, gtk_widget_get_width(scrolledWindow.widget)),
            distance(bounds.origin.y, bounds.size.height, gtk_widget_get_height(scrolledWindow.widget)))
    }

    /// Tells a view its place after the next layout.
    func awaitLayout(of host: ViewHost) {
        newcomers.append(Entry(host))
        connect()
    }

    /// Looks at a view again once the content has moved so far.
    func wait(for host: ViewHost, distance: Double) {
        let range = max(nextRange, Int((travelled + distance) / Self.rangeLength))
        distant[range, default: []].append(Entry(host))
        connect()
    }

    /// Tells a view when it is far away again, while it loads.
    func follow(_ host: ViewHost) {
        followed[ObjectIdentifier(host)] = Entry(host)
        connect()
    }

    private func didLayOut() {
        if hasScrolled {
            hasScrolled = false
            lookAtReached()
        } else if !isScrolling {
            remeasureSoon()
        }
        for entry in take(&newcomers) { entry.current?.didLayOut() }
        if newcomers.isEmpty, distant.isEmpty, followed.isEmpty, unmeasured.isEmpty { disconnect() }
    }

    private func lookAtReached() {
        lookAtFollowed()
        let range = Int(travelled / Self.rangeLength)
        guard range >= nextRange else { return }
        let reached = (nextRange...range).compactMap { distant.removeValue(forKey: $0) }
        nextRange = range + 1
        for entry in reached.joined() { entry.current?.checkPlace() }
    }

    private func lookAtFollowed() {
        for (id, entry) in followed {
            guard let host = entry.current else {
                followed[id] = nil
                continue
            }
            // Pausing may make it follow anew.
            followed[id] = nil
            if host.checkDistance() { followed[id] = entry }
        }
    }

    private func remeasureSoon() {
        guard !distant.isEmpty || !followed.isEmpty || !unmeasured.isEmpty else { return }
        guard remeasureCall == nil else { return isOutdated = true }
        remeasureCall = MainLoopCall.after(milliseconds: Self.remeasureMilliseconds) { [weak self] in
            self?.remeasure()
        }
    }

    private func remeasure() {
        (remeasureCall, isOutdated) = (nil, false)
        // The end of scrolling calls this again.
        guard !isScrolling else { return }
        lookAtFollowed()
        unmeasured = distant.keys.sorted().flatMap { distant[$0] ?? [] }[...]
        distant = [:]
        measureSome()
    }

    /// Measures as many as take about a millisecond, and the others in further turns of the main loop.
    private func measureSome() {
        let some = unmeasured.prefix(Self.measuredAtOnce)
        unmeasured = unmeasured.dropFirst(Self.measuredAtOnce)
        for entry in some { entry.current?.checkPlace() }
        remeasureCall = unmeasured.isEmpty ? nil : MainLoopCall.whenIdle { [weak self] in self?.measureSome() }
        if unmeasured.isEmpty, isOutdated { remeasureSoon() }
    }

    /// Empties `entries`, because views that are looked at may wait again.
    private func take(_ entries: inout [Entry]) -> [Entry] {
        defer { entries = [] }
        return entries
    }

    // MARK: Layouts

    /// Observes the layouts of the window while views wait.
    private func connect() {
        guard let current = gtk_widget_get_frame_clock(scrolledWindow.widget) else { return }
        if clock?.pointer.opaque != current {
            disconnect()
            let pointer = ObjectPointer(current)
            clock = ObjectReference(retaining: pointer)
            // The window has connected its own layout before.
            layoutConnection = pointer.onSignal("layout") { [weak self] in self?.didLayOut() }
        }
        if !newcomers.isEmpty { gdk_frame_clock_request_phase(current, GDK_FRAME_CLOCK_PHASE_LAYOUT) }
    }

    private func disconnect() {
        if let layoutConnection { clock?.pointer.disconnect(layoutConnection) }
        (clock, layoutConnection) = (nil, nil)
    }
}
