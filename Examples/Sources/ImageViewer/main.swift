import CGTK  // GTK's headers
import Foundation
import WebImageGTK

guard CommandLine.arguments.count == 2 else {
    print("Usage: ImageViewer FILE")
    exit(2)
}
gtk_init()
let widget = gtk_window_new()
let window = UnsafeMutableRawPointer(widget)?.assumingMemoryBound(to: GtkWindow.self)
let view = ZoomView()
view.onZoomChange = { gtk_window_set_title(window, "\(Int((view.scale * 100).rounded())) %") }
var request = WebImageRequest(URL(filePath: CommandLine.arguments[1]))
var limits = DecodingLimits.default
limits.pixelCount = 400_000_000
limits.processorTime = .seconds(60)
request.decodingLimits = limits
view.setImage(request, placeholder: .color(.black)) { result in
    if case .failure(let error) = result { print(error) }
}
gtk_window_set_default_size(window, 800, 500)
gtk_window_set_child(window, view.widget)
gtk_window_present(window)
while g_list_model_get_n_items(gtk_window_get_toplevels()) > 0 { g_main_context_iteration(nil, 1) }
