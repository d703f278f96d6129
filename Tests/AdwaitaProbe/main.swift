import CWebImageGTK
import FoundationEssentials
import Glibc
import GTKObjects
import WebImageGTK

// Shows images in a window of libadwaita's, dark, and prints what they look like: an image's pixel, whether an
// insensitive button draws the image of its normal state, whether the theme counts as dark, and the scale of an image
// that is decoded at the view's size. Ends with status 77 where there is no libadwaita or no display.
typealias Function = @convention(c) () -> UnsafeMutableRawPointer?
typealias Procedure = @convention(c) () -> Void
typealias SetContent = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void
typealias SetScheme = @convention(c) (UnsafeMutableRawPointer?, Int32) -> Void

guard let library = dlopen("libadwaita-1.so.0", RTLD_NOW | RTLD_GLOBAL), gtk_init_check() != 0,
    let initialise = dlsym(library, "adw_init"), let makeWindow = dlsym(library, "adw_window_new"),
    let setContent = dlsym(library, "adw_window_set_content"),
    let styleManager = dlsym(library, "adw_style_manager_get_default"),
    let setScheme = dlsym(library, "adw_style_manager_set_color_scheme")
else { exit(77) }
unsafeBitCast(initialise, to: Procedure.self)()
// ADW_COLOR_SCHEME_FORCE_DARK
unsafeBitCast(setScheme, to: SetScheme.self)(unsafeBitCast(styleManager, to: Function.self)(), 4)

MainActor.assumeIsolated {
    /// Notes the theme that an indicator is drawn for.
    final class Witness { var isDark: Bool? }

    /// Never answers.
    final class SilentLoader: ImageLoader, LoaderTask {
        func canLoad(_ url: URL) -> Bool { true }
        func load(
            _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
        ) -> any LoaderTask { self }
        func cancel() {}
        func setPriority(_ priority: LoadPriority) {}
    }

    let red = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADUlEQVR4nGP4z8AARAAI/gH/xp559wAAAABJRU5ErkJggg=="
    let box = ObjectPointer(gtk_box_new(GTK_ORIENTATION_VERTICAL, 0))
    let (picture, button, waiting) = (WebPicture(), WebButton(), WebPicture())
    let witness = Witness()
    picture.decodesAtDisplaySize = true
    for widget in [picture.widget, button.widget, waiting.widget] {
        gtk_widget_set_size_request(widget, 60, 30)
        gtk_box_append(box.address.assumingMemoryBound(to: GtkBox.self), widget)
    }
    let window = unsafeBitCast(makeWindow, to: Function.self)()
    unsafeBitCast(setContent, to: SetContent.self)(window, box.address)
    picture.setImage("data:image/png;base64,\(red)")
    button.setImage("data:image/png;base64,\(red)")
    gtk_widget_set_sensitive(button.widget, gboolean(0))
    waiting.indicator = ImageIndicator(draw: { witness.isDark = $0.isDark })
    waiting.setImage(
        "silent://host/picture.png",
        manager: WebImageManager(configuration: WebImageManager.Configuration(loaders: [SilentLoader()])))
    gtk_window_present(window?.assumingMemoryBound(to: GtkWindow.self))

    let deadline = g_get_monotonic_time() + 10_000_000
    while picture.image == nil || button.image == nil || witness.isDark == nil, g_get_monotonic_time() < deadline {
        g_main_context_iteration(nil, gboolean(0))
    }
    let pixel = picture.image?.pixels[0, 0] ?? SIMD4(0, 0, 0, 0)
    print("picture \(pixel.x) \(pixel.y) \(pixel.z) \(pixel.w)")
    // The button's picture has the size of the image that it draws.
    let drawn = gtk_picture_get_paintable(OpaquePointer(button.imageWidget)).map(gdk_paintable_get_intrinsic_width) ?? 0
    print("button \(drawn > 0 ? "drawn" : "blank") \(button.image == nil ? "empty" : "shown")")
    print("dark \(witness.isDark.map(String.init) ?? "unknown")")
    print("scale \(picture.image?.scale ?? 0)")
    waiting.cancelCurrentRequest()
}
exit(0)
