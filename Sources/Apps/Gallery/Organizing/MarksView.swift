import CWebImageAdwaita
import CWebImageGTK
import FoundationEssentials
import GTKObjects
import WebImageGTK

/// The stars and the tags of a photograph, to see and to change.
@MainActor final class MarksView {
    let widget: ObjectPointer
    private let session: GallerySession
    private let stars: [ObjectPointer]
    private let tags = ObjectPointer(gtk_entry_new())
    private let place = ObjectPointer.label("", "caption", "dim-label")
    private var photo: URL?
    /// The tags as the entry had them before the user has changed them.
    private var knownTags = ""

    init(session: GallerySession) {
        self.session = session
        stars = (1...5).map { number in
            .iconButton("non-starred-symbolic", counted("{count} star", "{count} stars", count: number)).style("flat")
                .style(
                    "circular")
        }
        tags.set("placeholder-text", localized("Tags, separated by commas")).setAccessibleLabel(localized("Tags"))
        widget = .column(spacing: 6, [.row(stars), tags, place])
        widget.isVisible = false
        for (index, button) in stars.enumerated() {
            button.onSignal("clicked") { [weak self] in self?.choose(index + 1) }
        }
        tags.onSignal("activate") { [weak self] in self?.keepTags() }
        let focus = ObjectPointer(gtk_event_controller_focus_new())
        focus.onSignal("leave") { [weak self] in self?.keepTags() }
        gtk_widget_add_controller(tags.widget, focus.opaque)
        session.index.observe { [weak self] changed in
            if let self, let photo, changed.contains(photo) { update() }
        }
    }

    /// Shows the marks of a photograph; `nil` for none.
    func show(_ url: URL?) {
        let new = url.flatMap { $0.isFileURL ? $0 : nil }
        guard new != photo else { return }
        keepTags()
        photo = new
        widget.isVisible = photo != nil
        if let photo { session.index.need(photo) }
        // The text of the former photograph is not that of this one, also where the user is writing.
        showTags()
        update()
    }

    /// Keeps what the user has written, and follows no photograph: the widget is off screen, and may go.
    func stop() {
        keepTags()
        photo = nil
    }

    private var facts: PhotoFacts? { photo.flatMap { session.index.facts[$0] } }

    private func showTags() {
        knownTags = facts?.marks.tags?.joined(separator: ", ") ?? ""
        tags.set("text", knownTags)
    }

    private func update() {
        guard let photo else { return }
        let count = facts?.stars ?? 0
        for (index, button) in stars.enumerated() {
            button.set("icon-name", index < count ? "starred-symbolic" : "non-starred-symbolic")
        }
        // What the user writes replaces the tags, so they have to be shown first.
        gtk_widget_set_sensitive(tags.widget, facts == nil ? 0 : 1)
        // What the user writes stays.
        if tags.get("text", as: String.self) == knownTags { showTags() }
        let name = Sidecar(of: photo).file.displayName
        place.text =
            facts?.hasSidecar == true
            ? localized("In {file}, beside the file", ["file": name])
            : localized("Kept in {file}, beside the file", ["file": name])
    }

    /// The star of the number that is set already takes all away.
    private func choose(_ stars: Int) {
        guard let photo else { return }
        session.setStars(facts?.stars == stars ? 0 : stars, of: [photo])
    }

    private func keepTags() {
        let text = tags.get("text", as: String.self)
        guard let photo, text != knownTags else { return }
        knownTags = text
        session.setTags(PhotoMarks.tags(in: text), of: [photo])
    }

    /// Writes tags as the user does, for tests.
    func write(tags text: String) {
        tags.set("text", text)
        keepTags()
    }

    /// The number of stars and the texts, for tests.
    var shownTexts: (stars: Int, tags: String, place: String) {
        (stars.count { $0.get("icon-name", as: String.self) == "starred-symbolic" }, tags.get("text"), place.text)
    }
}
