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
        Host.run(
            make: { Rendered(view(nil), width: size.width, height: size.height) }, container: \.container,
            update: { rendered, url in rendered.update(view(url), width: size.width, height: size.height) })
    }

    @MainActor private static func view(_ url: URL?) -> WebImageView {
        WebImageView(
            url, placeholder: .color(Host.placeholder), contentMode: .scaleToFill, alternativeText: "An image",
            onLoad: Host.didLoad, onFailure: Host.didFail)
    }
}
