public import CGTK
public import Foundation
public import WebImageGTK

/// Runs an adapter in a window, as a program whose state changes. The state comes from standard input: a line with a URL
/// is the new state, and `remove` removes the view. What happens goes to standard output.
@MainActor public enum Host {
    /// The size of the window in points.
    public static let size = PointSize(width: 320, height: 240)
    /// Another color than those of the images and of an empty screen.
    public static let placeholder = Color(red: 1, green: 0.8, blue: 0)

    /// Shows a view until standard input ends.
    ///
    /// - Parameters:
    ///   - make: makes what the framework has of the view.
    ///   - container: returns the widget of the view.
    ///   - update: updates the view to a URL.
    public static func run<View: AnyObject>(
        make: () -> View, container: (View) -> UnsafeMutablePointer<GtkWidget>,
        update: @escaping @MainActor (View, URL) -> Void
    ) -> Never {
        var view: View? = make()
        guard let container = view.map(container) else { exit(1) }
        let window: UnsafeMutablePointer<GtkWidget> = gtk_window_new()
        let object = UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_default_size(object, gint(size.width), gint(size.height))
        gtk_window_set_decorated(object, 0)
        gtk_window_set_child(object, container)
        gtk_window_present(object)
        act = { line in
            if let url = URL(string: line), url.scheme != nil {
                updateAgain = { if let view { update(view, url) } }
                return updateAgain()
            }
            updateAgain = {}
            let picture = WeakPicture(container)
            gtk_window_set_child(object, nil)
            view = nil
            // What goes with this turn of the main loop is gone then.
            Task { @MainActor in say(picture.isReleased ? "released" : "still there") }
        }
        Thread.detachNewThread {
            while let line = readLine() { Task { @MainActor in act(line) } }
            exit(0)
        }
        g_main_loop_run(g_main_loop_new(nil, 0))
        exit(1)
    }

    private static var updateAgain: @MainActor () -> Void = {}
    private static var act: @MainActor (String) -> Void = { _ in }

    /// A view has called its closure for an image.
    public static func didLoad(_ image: WebImage.Image) { didChange("loaded \(image.pixels.size)") }

    /// A view has called its closure for a failure.
    public static func didFail(_ error: WebImageError) { didChange("failed \(error.code)") }

    /// Programs keep what has happened in their state, so that views are updated, also the one that it is of.
    private static func didChange(_ line: String) {
        say(line)
        Task { @MainActor in updateAgain() }
    }

    private static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

    /// The picture in a container, if it is still there.
    private struct WeakPicture {
        private weak var picture: WebPicture?
        private let wasThere: Bool

        @MainActor init(_ container: UnsafeMutablePointer<GtkWidget>) {
            var widget = container
            while WebPicture.attached(to: widget) == nil, let child = gtk_widget_get_first_child(widget) {
                widget = child
            }
            picture = WebPicture.attached(to: widget)
            wasThere = picture != nil
        }

        var isReleased: Bool { wasThere && picture == nil }
    }
}
