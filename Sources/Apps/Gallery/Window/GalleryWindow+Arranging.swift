import FoundationEssentials
import GTKObjects
import WebImageGTK

/// Commands that find photographs and put them in order.
extension GalleryWindow {
    /// The photographs that a command means, on the page in front.
    var targets: [URL] {
        if let viewer = shownViewer { return viewer.currentURL.map { [$0] } ?? [] }
        return shownPage == "photos" ? photos.targets : []
    }

    func makeOrganizer() -> Organizer {
        Organizer(window: widget, session: session) { [weak self] in self?.targets ?? [] }
    }

    var arrangingActions: [Action] {
        [
            Action("search", localized("Search"), .photos, keys: ["<Control>f"]) { [weak self] in
                self?.photos.searchBar.open()
            },
            Action("sidebar", localized("Show the folders"), .photos, keys: ["F9"]) { [weak self] in
                self?.sidebar.toggle()
            },
            Action("reverse", localized("Reverse the order"), .photos) { [session] in
                session.settings.change { $0.isReversed.toggle() }
            }
            .showing(\.isReversed),
            Action("show-hidden", localized("Show hidden files"), .photos, keys: ["<Control>h"]) { [session] in
                session.settings.change { $0.showsHidden.toggle() }
            }
            .showing(\.showsHidden),
            Action("compare", localized("Compare two images"), .general, keys: ["<Control>d"]) { [weak self] in
                guard let self else { return }
                // As for the other commands of one image, that is the first in sight.
                if shownViewer == nil { photos.grid.chooseCurrent() }
                CompareWindow.show(targets, over: widget, session)
            },
        ] + organizer.actions
    }
}
