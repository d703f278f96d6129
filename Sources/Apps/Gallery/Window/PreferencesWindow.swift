import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

/// The preferences: what users see, limits of the caches, connections, and the slide show.
@MainActor enum PreferencesWindow {
    private typealias Limits = GallerySettings.Limits

    static func present(over parent: ObjectPointer, _ session: GallerySession) {
        let window = ObjectPointer(adw_preferences_window_new())
        window.set("search-enabled", false).set("title", localized("Preferences"))
        gtk_window_set_default_size(window.as(), 480, 560)
        gtk_window_set_transient_for(window.as(), parent.as())
        gtk_window_set_modal(window.as(), 1)
        let settings = session.settings
        adw_preferences_window_add(window.as(), makeViewingPage(settings).as())
        let page = ObjectPointer(adw_preferences_page_new()).set("title", localized("Loading"))
            .set("icon-name", "folder-download-symbolic")
        func add(_ title: String, _ description: String, _ rows: [ObjectPointer]) {
            adw_preferences_page_add(page.as(), ObjectPointer.group(title, description: description, rows).as())
        }
        add(
            localized("Caches"), localized("Images in memory appear at once. Files on disk are decoded again."),
            [
                row(localized("Memory"), "MiB", Limits.memoryMebibytes, step: 16, \.memoryMebibytes, settings),
                row(
                    localized("Disk, after a restart"), "MiB", Limits.diskMebibytes, step: 64, \.diskMebibytes, settings
                ),
            ])
        add(
            localized("Connections"), localized("Transfers at the same time, after a restart."),
            [
                row(localized("In total"), "", Limits.connections, step: 1, \.connections, settings),
                row(
                    localized("For each server"), "", Limits.connectionsPerHost, step: 1, \.connectionsPerHost, settings
                ),
            ])
        add(
            localized("Slide show"), "",
            [row(localized("Time for each image"), "s", Limits.slideSeconds, step: 1, \.slideSeconds, settings)])
        adw_preferences_window_add(window.as(), page.as())
        gtk_window_present(window.as())
    }

    /// Returns a row with a number that changes a setting.
    private static func row(
        _ title: String, _ unit: String, _ range: ClosedRange<Int>, step: Int,
        _ setting: WritableKeyPath<GallerySettings.Values, Int>, _ settings: GallerySettings
    ) -> ObjectPointer {
        let button = ObjectPointer(
            gtk_spin_button_new_with_range(Double(range.lowerBound), Double(range.upperBound), Double(step)))
        button.set("value", Double(settings.values[keyPath: setting]))
        button.onSignal("value-changed") {
            settings.change { $0[keyPath: setting] = Int(button.get("value", as: Double.self)) }
        }
        return .row(title, button, name: unit.isEmpty ? nil : "\(title), \(unit)", unit: unit)
    }
}
