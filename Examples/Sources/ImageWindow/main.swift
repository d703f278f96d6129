import CGTK  // GTK's headers
import Foundation
import WebImageGTK

guard CommandLine.arguments.count == 2 else {
    print("Usage: ImageWindow URL")
    exit(2)
}
gtk_init()
let picture = WebPicture()
picture.setImage(CommandLine.arguments[1], placeholder: .color(.black), options: .fadeIn) { result in
    if case .failure(let error) = result { print(error) }
}
let widget = gtk_window_new()
let window = UnsafeMutableRawPointer(widget)?.assumingMemoryBound(to: GtkWindow.self)
gtk_window_set_title(window, "Image")
gtk_window_set_default_size(window, 800, 500)
gtk_window_set_child(window, picture.widget)
gtk_window_present(window)
while g_list_model_get_n_items(gtk_window_get_toplevels()) > 0 { g_main_context_iteration(nil, 1) }
