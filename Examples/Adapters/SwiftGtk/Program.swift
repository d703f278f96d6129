import AdapterHost
import CGTK
import Foundation
import SwiftGtkStandIn
import WebImageGTK

/// Shows a widget of SwiftGtk, whose URL changes.
@main
enum Program {
    @MainActor static func main() {
        gtk_init()
        MainLoop.install()
        Host.run(make: makeView, container: { $0.widget_ptr }, update: { view, url in view.url = url })
    }

    @MainActor private static func makeView() -> WebImageView {
        let view = WebImageView(placeholder: .color(Host.placeholder), contentMode: .scaleToFill)
        view.onLoad = Host.didLoad
        view.onFailure = Host.didFail
        return view
    }
}
