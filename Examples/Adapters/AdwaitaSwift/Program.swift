import AdapterHost
import AdwaitaSwiftStandIn
import CGTK
import Foundation
import WebImageGTK

/// Shows a view of Adwaita for Swift, whose state is a URL.
@main
enum Program {
    @MainActor static func main() {
        gtk_init()
        MainLoop.install()
        Host.run(
            make: { Rendered(view(nil)) }, container: \.container,
            update: { rendered, url in
                rendered.update(view(url))
                // As after a change elsewhere.
                rendered.update(view(url), updateProperties: false)
            })
    }

    @MainActor private static func view(_ url: URL?) -> WebImageView {
        WebImageView(
            url, placeholder: .color(Host.placeholder), contentMode: .scaleToFill, alternativeText: "An image",
            onLoad: Host.didLoad, onFailure: Host.didFail)
    }
}
