import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

/// A page that teaches.
@MainActor protocol GalleryPage: AnyObject {
    var widget: ObjectPointer { get }
    /// Whether all loads and transitions have ended. Animations may play.
    var isSettled: Bool { get }
    /// Whether all images have loaded.
    var isComplete: Bool { get }
}

/// The list of the pages that teach, and the page on display.
///
///     GtkStack ─┬─ list of rows
///               ├─ bar with a back button, above the page "progressive"
///               └─ …
@MainActor final class LearnPage {
    let widget: ObjectPointer
    private let samples: Samples
    private let session: GallerySession
    private let stack = ObjectPointer(gtk_stack_new())
    /// The pages that have been shown.
    private var pages: [PageName: any GalleryPage] = [:]
    private var rows: [PageName: ObjectPointer] = [:]
    private var backButtons: [PageName: ObjectPointer] = [:]

    private static let listName = "list"

    init(session: GallerySession) {
        self.session = session
        samples = Samples(session: session)
        widget = stack
        // Only the visible page counts for the size.
        stack.set("hhomogeneous", false).set("vhomogeneous", false)
        gtk_stack_set_transition_type(stack.opaque, GTK_STACK_TRANSITION_TYPE_SLIDE_LEFT_RIGHT)
        gtk_stack_add_named(stack.opaque, makeList().widget, Self.listName)
        listenToKeys()
    }

    /// Shows a page. It is made when it is first shown, because its images take time.
    func open(_ name: PageName) {
        if pages[name] == nil {
            let page = makePage(name)
            pages[name] = page
            let column = ObjectPointer.column([makeBar(name), page.widget.expanding()])
            gtk_stack_add_named(stack.opaque, column.widget, name.rawValue)
        }
        gtk_stack_set_visible_child_name(stack.opaque, name.rawValue)
        // The row is hidden now, and the page may have nothing to focus yet.
        gtk_widget_grab_focus(backButtons[name]?.widget)
    }

    /// Returns to the list.
    ///
    /// - Returns: `false` if the list is on display already.
    @discardableResult func closePage() -> Bool {
        guard let name = shownName else { return false }
        gtk_stack_set_visible_child_name(stack.opaque, Self.listName)
        gtk_widget_grab_focus(rows[name]?.widget)
        return true
    }

    /// The page on display; `nil` for the list.
    var shownName: PageName? {
        gtk_stack_get_visible_child_name(stack.opaque).flatMap { PageName(rawValue: String(cString: $0)) }
    }

    var page: (any GalleryPage)? { shownName.flatMap { pages[$0] } }

    /// Whether the loads and transitions of the visible page have ended.
    var isSettled: Bool {
        gtk_stack_get_transition_running(stack.opaque) == 0 && page?.isSettled ?? true
    }

    /// Whether the visible page shows all its images.
    var isComplete: Bool { page?.isComplete ?? true }

    private func makePage(_ name: PageName) -> any GalleryPage {
        switch name {
        case .progressive: ProgressivePage(samples: samples)
        case .processors: ProcessorsPage(samples: samples, session: session)
        case .views: ViewsPage(samples: samples)
        case .buttons: ButtonsPage(samples: samples)
        case .animations: AnimationsPage(samples: samples)
        #if WEBIMAGE_MAP
            case .markers: MarkersPage(samples: samples)
        #endif
        }
    }

    // MARK: Widgets

    private func makeList() -> ObjectPointer {
        let rows = PageName.allCases.map(makeRow)
        let group = ObjectPointer.group(
            localized("Learn"), description: localized("What the library can do, with photographs to try it on."), rows)
        return .scrolling(.clamped(group.margins(horizontal: 12, vertical: 24), width: 640))
    }

    private func makeRow(_ name: PageName) -> ObjectPointer {
        let row = ObjectPointer(adw_action_row_new()).set("title", name.title).set("subtitle", name.subtitle)
            .set("activatable", true)
        adw_action_row_add_prefix(row.as(), gtk_image_new_from_icon_name(name.iconName))
        adw_action_row_add_suffix(row.as(), gtk_image_new_from_icon_name("go-next-symbolic"))
        row.onSignal("activated") { [weak self] in self?.open(name) }
        rows[name] = row
        return row
    }

    private func makeBar(_ name: PageName) -> ObjectPointer {
        let back = ObjectPointer.iconButton("go-previous-symbolic", localized("Back to the list")) { [weak self] in
            self?.closePage()
        }
        backButtons[name] = back
        let title = ObjectPointer.label(name.title, "heading").set("wrap", false)
        gtk_label_set_ellipsize(title.opaque, PANGO_ELLIPSIZE_END)
        return ObjectPointer.row(spacing: 6, [back.style("flat"), title]).margins(6)
    }

    /// Escape and Alt+Left return to the list.
    private func listenToKeys() {
        let keys = ObjectPointer(gtk_event_controller_key_new())
        keys.onKey { [weak self] key, modifiers in
            let isLeft = key == GDK_KEY_Left && modifiers.rawValue & GDK_ALT_MASK.rawValue != 0
            guard let self, key == GDK_KEY_Escape || isLeft else { return false }
            return closePage()
        }
        gtk_widget_add_controller(widget.widget, keys.opaque)
    }
}
