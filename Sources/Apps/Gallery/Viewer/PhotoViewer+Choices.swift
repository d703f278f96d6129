import CWebImageGTK
import GTKObjects
import WebImageGTK

/// What the user chooses in the preferences.
extension PhotoViewer {
    func followChoices() {
        let settings = session.settings
        show(settings.values.background)
        canvas.wheelTurnsPages = settings.values.wheelTurnsPages
        settings.observe(\.background) { [weak self] in self?.show($0) }
        settings.observe(\.wheelTurnsPages) { [weak self] in self?.canvas.wheelTurnsPages = $0 }
        session.index.observe { [weak self] changed in
            if let self, let currentURL, changed.contains(currentURL) { updateTitle() }
        }
    }

    /// The style sheet has a class for each background.
    private func show(_ background: PhotoBackground) {
        let area = ObjectPointer(canvas.widget)
        for other in PhotoBackground.allCases { area.setStyle("on-\(other.rawValue)", other == background) }
    }
}
