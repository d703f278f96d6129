import Dispatch
import CWebImageAdwaita
import CWebImageGTK
import FoundationEssentials
import GTKObjects
import ProgramSupport
import WebImageGTK

/// The commands that put photographs in order: stars, tags, and folders to copy and move to.
@MainActor final class Organizer {
    private let window: ObjectPointer
    private let session: GallerySession
    /// The photographs that a command means.
    private let targets: () -> [URL]

    init(window: ObjectPointer, session: GallerySession, targets: @escaping () -> [URL]) {
        (self.window, self.session, self.targets) = (window, session, targets)
    }

    private static let starTitles = [
        localized("No stars"), localized("One star"), localized("Two stars"), localized("Three stars"),
        localized("Four stars"), localized("Five stars"),
    ]

    /// Their page keys are for the grid: in the viewer, 0 and 1 zoom.
    var actions: [Action] {
        Self.starTitles.enumerated().map { stars, title in
            Action(
                "stars-\(stars)", title, .organizing, keys: ["<Control><Alt>\(stars)"],
                pageKeys: ["\(stars)", "KP_\(stars)"]
            ) { [weak self] in
                if let self { session.setStars(stars, of: targets()) }
            }
        } + [
            Action("tags", localized("Tags"), .organizing, keys: ["<Control>t"]) { [weak self] in self?.askForTags() },
            Action("copy-to", localized("Copy to a folder"), .organizing, keys: ["<Control><Shift>c"]) { [weak self] in
                self?.chooseFolder(.copy)
            },
            Action("move-to", localized("Move to a folder"), .organizing, keys: ["<Control><Shift>m"]) { [weak self] in
                self?.chooseFolder(.move)
            },
        ]
    }

    /// The action of a menu's entry for a folder.
    static func folderAction(_ kind: FilePlacing.Kind) -> String {
        kind == .copy ? "copy-to-folder" : "move-to-folder"
    }

    /// Adds the actions of the entries for folders to a `GActionMap`, such as a window.
    func addFolderActions(to map: ObjectPointer) {
        let text = g_variant_type_new("s")
        defer { g_variant_type_free(text) }
        for kind in [FilePlacing.Kind.copy, .move] {
            let action = ObjectPointer(g_simple_action_new(Self.folderAction(kind), text))
            action.onActivate { [weak self] (folder: String) in self?.place(in: folder, kind) }
            g_action_map_add_action(map.opaque, action.opaque)
            g_object_unref(action.address)
        }
    }

    private func chooseFolder(_ kind: FilePlacing.Kind) {
        guard !targets().isEmpty else { return session.showToast(localized("Select photographs first")) }
        let chooser = ObjectPointer(
            web_image_file_chooser_new(
                kind == .copy ? localized("Copy to") : localized("Move to"), window.as(),
                GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER, kind == .copy ? localized("_Copy") : localized("_Move"),
                localized("_Cancel"))
        )
        let settings = session.settings.values
        chooser.beginChoosing(in: settings.recentTargets.first ?? settings.lastFolder)
        chooser.chooseFiles { [weak self] in if let folder = $0.first { self?.place(in: folder, kind) } }
    }

    private func place(in folder: String, _ kind: FilePlacing.Kind) {
        guard let path = LocationReader.path(of: folder) else { return }
        session.place(targets(), into: path, kind)
    }

    private func askForTags() {
        let photos = targets().filter(\.isFileURL)
        guard let first = photos.first else { return session.showToast(localized("Select photographs first")) }
        if let facts = session.index.facts[first] { return askForTags(of: photos, first, facts) }
        // What the user sets replaces the tags, so they have to be shown.
        Task { [weak self] in
            let facts = await DispatchQueue.files.run { PhotoFacts(of: first, $0) }
            self?.askForTags(of: photos, first, facts)
        }
    }

    private func askForTags(of photos: [URL], _ first: URL, _ facts: PhotoFacts) {
        let known = facts.marks.tags?.joined(separator: ", ") ?? ""
        let entry = TextDialog.ask(
            over: window, localized("Tags"), Self.explanation(of: photos, first), localized("Tags"),
            localized("_Set"), allowsEmpty: true
        ) { [session] text in
            // Tags of other programs may have commas.
            guard text != known || photos.count > 1 else { return }
            session.setTags(PhotoMarks.tags(in: text), of: photos)
        }
        entry.set("text", known)
    }

    private static func explanation(of photos: [URL], _ first: URL) -> String {
        counted(
            "The tags of {photo}, separated by commas. They are kept in {file}, beside the file.",
            "The tags of {count} photographs, separated by commas. They are kept in files with the ending {ending}, beside the photographs.",
            count: photos.count,
            [
                "photo": first.displayName, "file": Sidecar(of: first).file.displayName, "ending": Sidecar.suffix,
            ])
    }
}
