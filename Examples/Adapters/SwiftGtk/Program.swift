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
        var view: WebImageView? = WebImageView(placeholder: .color(Host.placeholder), contentMode: .scaleToFill)
        view?.onLoad = Host.didLoad
        view?.onFailure = Host.didFail
        Host.run(view!.widget_ptr, update: { view?.url = $0 }, remove: { view = nil })
    }
}
