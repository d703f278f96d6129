import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

/// The conditions of a search besides its text.
@MainActor final class SearchConditions {
    let widget = ObjectPointer(gtk_grid_new())
    /// Called after the user has changed a condition.
    var onChange: () -> Void = {}
    /// Called for the button that takes all conditions away.
    var onClear: () -> Void = {}

    private let format = ObjectPointer.dropDown([localized("Any")], localized("Format"))
    private let days = [ObjectPointer(gtk_entry_new()), ObjectPointer(gtk_entry_new())]
    private let size = ObjectPointer.dropDown(SearchConditions.sizes.map(\.title), localized("Pixels"))
    private let length = ObjectPointer.dropDown(SearchConditions.lengths.map(\.title), localized("Size of the file"))
    private let stars = ObjectPointer.dropDown(SearchConditions.starTitles, localized("Stars"))
    private let place = ObjectPointer(gtk_check_button_new_with_label(localized("With a place")))
    private var formats: [String] = []
    /// Whether the controls are being set, which changes no condition.
    private var isSetting = false

    private static let sizes: [(title: String, megapixels: Double)] = [
        (localized("Any"), 0), (localized("1 megapixel or more"), 1), (localized("4 megapixels or more"), 4),
        (localized("12 megapixels or more"), 12), (localized("24 megapixels or more"), 24),
        (localized("48 megapixels or more"), 48),
    ]
    private static let lengths: [(title: String, bytes: Int)] = [
        (localized("Any"), 0), (localized("100 kB or more"), 100_000), (localized("1 MB or more"), 1_000_000),
        (localized("10 MB or more"), 10_000_000),
    ]
    private static let starTitles = [
        localized("Any"), localized("★ or more"), localized("★★ or more"), localized("★★★ or more"),
        localized("★★★★ or more"), "★★★★★",
    ]

    init() {
        widget.set("row-spacing", 6).set("column-spacing", 12).margins(12)
        for (entry, name) in zip(days, [localized("First day"), localized("Last day")]) {
            entry.set("placeholder-text", localized("2026-05-17, or 2026")).setAccessibleLabel(name)
            entry.onSignal("changed") { [weak self] in self?.controlsDidChange() }
        }
        for menu in menus { menu.onChange(of: "selected") { [weak self] in self?.controlsDidChange() } }
        place.onSignal("toggled") { [weak self] in self?.controlsDidChange() }
        let rows = [
            (localized("Format"), format), (localized("From"), days[0]), (localized("Until"), days[1]),
            (localized("Pixels"), size), (localized("Size of the file"), length), (localized("Stars"), stars),
        ]
        for (row, (title, control)) in rows.enumerated() {
            gtk_grid_attach(widget.as(), ObjectPointer.label(title).set("wrap", false).widget, 0, gint(row), 1, 1)
            gtk_grid_attach(widget.as(), control.set("hexpand", true).widget, 1, gint(row), 1, 1)
        }
        gtk_grid_attach(widget.as(), place.widget, 1, gint(rows.count), 1, 1)
        let clear = ObjectPointer.button(localized("_Clear")) { [weak self] in self?.onClear() }
        gtk_grid_attach(widget.as(), clear.widget, 1, gint(rows.count + 1), 1, 1)
    }

    private var menus: [ObjectPointer] { [format, size, length, stars] }

    /// Offers these endings of formats, and chooses one of them; `nil` for any.
    func fill(_ formats: [String], chosen: String?) {
        isSetting = true
        self.formats = formats
        format.fillMenu(
            [localized("Any")]
                + formats.map { ending in
                    ImageFormat.known.first { $0.fileExtension == ending }?.title ?? ending.uppercased()
                })
        format.set("selected", chosen.flatMap(formats.firstIndex).map { $0 + 1 } ?? 0)
        isSetting = false
    }

    /// Takes all conditions away, without a call of ``onChange``.
    func clear() {
        isSetting = true
        for day in days { day.set("text", "") }
        for menu in menus { menu.set("selected", 0) }
        place.set("active", false)
        isSetting = false
        showErrors()
    }

    /// Puts the conditions into a filter.
    func apply(to filter: inout SearchFilter) {
        func chosen(_ menu: ObjectPointer) -> Int { menu.get("selected", as: Int.self) }
        filter.format = formats.indices.contains(chosen(format) - 1) ? formats[chosen(format) - 1] : nil
        (filter.firstDay, filter.lastDay) = (days[0].get("text"), days[1].get("text"))
        filter.leastMegapixels = Self.sizes[min(max(0, chosen(size)), Self.sizes.count - 1)].megapixels
        filter.leastByteCount = Self.lengths[min(max(0, chosen(length)), Self.lengths.count - 1)].bytes
        filter.leastStars = max(0, chosen(stars))
        filter.needsPlace = place.get("active")
    }

    private func controlsDidChange() {
        guard !isSetting else { return }
        showErrors()
        onChange()
    }

    private func showErrors() {
        for day in days {
            let text = day.get("text", as: String.self)
            day.setStyle("error", !text.isEmpty && SearchFilter.bound(text) == nil)
        }
    }

    /// Sets a condition as the user does, for tests.
    func choose(stars count: Int) { stars.set("selected", count) }
}
