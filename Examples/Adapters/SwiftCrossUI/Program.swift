import AdapterHost
import CGTK
import Foundation
import SwiftCrossUIStandIn
import WebImageGTK

/// Shows a view of SwiftCrossUI, whose state is a URL.
@main
enum Program {
    @MainActor static func main() {
        gtk_init()
        MainLoop.install()
        let size = Host.size
        var rendered: Rendered? = Rendered(view(nil), width: size.width, height: size.height)
        Host.run(
            rendered!.container,
            update: { rendered?.update(view($0), width: size.width, height: size.height) },
            remove: { rendered = nil })
    }

    @MainActor private static func view(_ url: URL?) -> WebImageView {
        WebImageView(
            url, placeholder: .color(Host.placeholder), contentMode: .scaleToFill, alternativeText: "An image",
            onLoad: Host.didLoad, onFailure: Host.didFail)
    }
}
