import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

/// The page for what users see.
extension PreferencesWindow {
    static func makeViewingPage(_ settings: GallerySettings) -> ObjectPointer {
        let page = ObjectPointer(adw_preferences_page_new()).set("title", localized("Viewing"))
            .set("icon-name", "image-x-generic-symbolic")
        let groups: [(title: String, description: String, rows: [ObjectPointer])] = [
            (
                localized("Image"), "",
                [
                    choice(localized("Background"), PhotoBackground.allCases, \.title, \.background, settings),
                    choice(
                        localized("Wheel"), [false, true],
                        { $0 ? localized("Next image, zooms with Ctrl") : localized("Zooms") }, \.wheelTurnsPages,
                        settings),
                ]
            ),
            (
                localized("Folders"), "",
                [
                    choice(localized("Order"), PhotoOrder.allCases, \.title, \.order, settings),
                    toggle(localized("Reverse order"), "", \.isReversed, settings),
                    toggle(localized("Names and dates below the images"), "", \.showsNames, settings),
                    toggle(
                        localized("Hidden files"), localized("Also folders whose names begin with a dot"),
                        \.showsHidden, settings),
                    toggle(
                        localized("Begin with the last folder"), localized("When no image is opened"),
                        \.opensLastFolder, settings),
                ]
            ),
            (
                localized("Colors"),
                localized(
                    "Images with a color profile are converted to sRGB, which GTK shows. HDR is mapped to standard range."
                ),
                [choice(localized("Style"), ColorSchemeChoice.allCases, \.title, \.colorScheme, settings)]
            ),
            (
                localized("Stars and tags"),
                localized(
                    "They are kept beside a photograph, in a file with the ending {ending}. The photograph does not change.",
                    ["ending": Sidecar.suffix]),
                []
            ),
        ]
        for (title, description, rows) in groups {
            adw_preferences_page_add(page.as(), ObjectPointer.group(title, description: description, rows).as())
        }
        return page
    }

    /// Returns a row with a menu that changes a setting.
    private static func choice<Value: Equatable>(
        _ title: String, _ values: [Value], _ name: (Value) -> String,
        _ setting: WritableKeyPath<GallerySettings.Values, Value>, _ settings: GallerySettings
    ) -> ObjectPointer {
        let row = ObjectPointer.menuRow(title, values.map(name))
        row.set("selected", values.firstIndex(of: settings.values[keyPath: setting]) ?? 0)
        row.onChange(of: "selected") {
            let index = row.get("selected", as: Int.self)
            if values.indices.contains(index) { settings.change { $0[keyPath: setting] = values[index] } }
        }
        return row
    }

    private static func toggle(
        _ title: String, _ subtitle: String, _ setting: WritableKeyPath<GallerySettings.Values, Bool>,
        _ settings: GallerySettings
    ) -> ObjectPointer {
        let control = ObjectPointer(gtk_switch_new()).set("active", settings.values[keyPath: setting])
        control.onChange(of: "active") { settings.change { $0[keyPath: setting] = control.get("active") } }
        return .row(title, subtitle: subtitle, control)
    }
}
