import CGTK
import Foundation
import WebImageGTK

/// `PhotoPile URL…` shows photographs as a pile.
@main
enum Program {
    @MainActor static func main() {
        guard CommandLine.arguments.count > 1 else {
            print("Usage: PhotoPile URL…")
            exit(2)
        }
        gtk_init()
        let pile = PhotoPile(Array(CommandLine.arguments.dropFirst()))
        let widget = gtk_window_new()
        let window = UnsafeMutableRawPointer(widget)?.assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_title(window, "Photo pile")
        gtk_window_set_default_size(window, 560, 560)
        gtk_window_set_child(window, pile.widget)
        gtk_window_present(window)
        withExtendedLifetime(pile) {
            while g_list_model_get_n_items(gtk_window_get_toplevels()) > 0 { g_main_context_iteration(nil, 1) }
        }
    }
}
