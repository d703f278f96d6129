import CGTK  // GTK's headers; any Swift binding of GTK 4 will do
import Foundation
import WebImageGTK

gtk_init()
let picture = WebPicture()
picture.setImage(URL(string: CommandLine.arguments.last ?? ""), placeholder: .color(.black), options: .fadeIn)
let widget = gtk_window_new()
let window = UnsafeMutableRawPointer(widget)?.assumingMemoryBound(to: GtkWindow.self)
gtk_window_set_default_size(window, 800, 500)
gtk_window_set_child(window, picture.widget)
gtk_window_present(window)
while g_list_model_get_n_items(gtk_window_get_toplevels()) > 0 { g_main_context_iteration(nil, 1) }
