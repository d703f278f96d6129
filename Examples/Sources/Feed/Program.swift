import CGTK
import Foundation
import WebImageGTK

/// `Feed FILE|URL` shows the posts of a JSON file.
@main
enum Program {
    @MainActor static func main() {
        guard CommandLine.arguments.count == 2 else {
            print("Usage: Feed FILE|URL")
            exit(2)
        }
        let argument = CommandLine.arguments[1]
        let url = argument.contains("://") ? URL(string: argument) : URL(fileURLWithPath: argument)
        guard let url, let application = gtk_application_new(nil, G_APPLICATION_NON_UNIQUE) else { exit(2) }
        // Without this, tasks of the main actor would wait forever, because GTK's main loop does not know them.
        MainLoop.install()
        MainLoop.observe(application)
        connect(application, "activate") { open(url, in: application) }
        exit(g_application_run(UnsafeMutableRawPointer(application).assumingMemoryBound(to: GApplication.self), 0, nil))
    }

    @MainActor private static func open(_ url: URL, in application: UnsafeMutablePointer<GtkApplication>) {
        let window: UnsafeMutablePointer<GtkWidget> = gtk_application_window_new(application)
        gtk_window_set_title(cast(window), "Feed")
        gtk_window_set_default_size(cast(window), 640, 800)
        gtk_window_present(cast(window))
        Task {
            do {
                // The same cache and loaders serve any file.
                let answer = try await WebImageManager.shared.data(for: WebImageRequest(url, cachePolicy: .http))
                list = PostList(try JSONDecoder().decode([Post].self, from: answer.data))
                gtk_window_set_child(cast(window), list?.widget)
            } catch {
                gtk_window_set_child(
                    cast(window), gtk_label_new("The feed cannot be shown. \(error.localizedDescription)"))
            }
        }
    }

    @MainActor private static var list: PostList?
}
