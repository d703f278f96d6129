import CWebImageGTK
import Glibc
import GTKObjects

@testable import WebImageGTK

/// The X server's pointer, moved and pressed through its test extension: what reaches GTK are events as of a mouse.
@MainActor final class Pointer {
    let display: OpaquePointer
    let library: UnsafeMutableRawPointer
    let testLibrary: UnsafeMutableRawPointer

    /// `nil` where the display is no X server, or has no test extension (Debian's package `libxtst6`).
    init?() {
        typealias Open = @convention(c) (UnsafePointer<CChar>?) -> OpaquePointer?
        guard let library = dlopen("libX11.so.6", RTLD_NOW), let testLibrary = dlopen("libXtst.so.6", RTLD_NOW),
            let open = dlsym(library, "XOpenDisplay").map({ unsafeBitCast($0, to: Open.self) }),
            let display = open(nil)
        else { return nil }
        (self.library, self.testLibrary, self.display) = (library, testLibrary, display)
    }

    /// Moves to the middle of `widget`, from elsewhere: GTK hears of a change only.
    func move(to widget: UnsafeMutablePointer<GtkWidget>) {
        guard let native = gtk_widget_get_native(widget), let surface = gtk_native_get_surface(native) else { return }
        let center = graphene_point_t(
            x: Float(gtk_widget_get_width(widget)) / 2, y: Float(gtk_widget_get_height(widget)) / 2)
        var middle = center
        guard gtk_widget_compute_point(widget, ObjectPointer(native).widget, [center], &middle) != 0 else { return }
        var (left, top): (Double, Double) = (0, 0)
        gtk_native_get_surface_transform(native, &left, &top)
        let origin = origin(of: surface)
        move(
            x: origin.x + Int32(Double(middle.x) + left), y: origin.y + Int32(Double(middle.y) + top))
    }

    /// Moves to the corner of the screen that no window covers.
    func moveAway() { move(x: 1279, y: 1023) }

    func press() { button(isDown: 1) }
    func release() { button(isDown: 0) }

    private func origin(of surface: OpaquePointer) -> (x: Int32, y: Int32) {
        typealias Root = @convention(c) (OpaquePointer) -> UInt
        typealias Translate =
            @convention(c) (
                OpaquePointer, UInt, UInt, Int32, Int32, UnsafeMutablePointer<Int32>, UnsafeMutablePointer<Int32>,
                UnsafeMutablePointer<UInt>
            ) -> Int32
        guard let window = window(of: surface), let root = function("XDefaultRootWindow", in: library, as: Root.self),
            let translate = function("XTranslateCoordinates", in: library, as: Translate.self)
        else { return (0, 0) }
        var (x, y, child): (Int32, Int32, UInt) = (0, 0, 0)
        _ = translate(display, window, root(display), 0, 0, &x, &y, &child)
        return (x, y)
    }

    /// The X server's name of a window.
    func window(of surface: OpaquePointer) -> UInt? {
        typealias WindowOf = @convention(c) (OpaquePointer) -> UInt
        return function("gdk_x11_surface_get_xid", in: nil, as: WindowOf.self).map { $0(surface) }
    }

    private func move(x: Int32, y: Int32) {
        typealias Move = @convention(c) (OpaquePointer, Int32, Int32, Int32, UInt) -> Int32
        let move = function("XTestFakeMotionEvent", in: testLibrary, as: Move.self)
        // Twice: the first one lets GTK know that there is a pointer.
        _ = move?(display, -1, x + 1, y, 0)
        _ = move?(display, -1, x, y, 0)
        flush()
    }

    private func button(isDown: Int32) {
        typealias Button = @convention(c) (OpaquePointer, UInt32, Int32, UInt) -> Int32
        _ = function("XTestFakeButtonEvent", in: testLibrary, as: Button.self)?(display, 1, isDown, 0)
        flush()
    }

    func flush() {
        typealias Flush = @convention(c) (OpaquePointer) -> Int32
        _ = function("XFlush", in: library, as: Flush.self)?(display)
    }

    func function<Function>(
        _ name: String, in library: UnsafeMutableRawPointer?, as type: Function.Type
    ) -> Function? {
        dlsym(library, name).map { unsafeBitCast($0, to: type) }
    }
}

extension Pointer {
    /// Gives the keyboard to a window, as a window manager would: there is none.
    func giveKeyboard(to window: UnsafeMutablePointer<GtkWidget>) {
        typealias SetFocus = @convention(c) (OpaquePointer, UInt, Int32, UInt) -> Int32
        guard let surface = gtk_native_get_surface(ObjectPointer(window).opaque), let name = self.window(of: surface)
        else { return }
        // 1: when the window goes, the pointer's window has it.
        _ = function("XSetInputFocus", in: library, as: SetFocus.self)?(display, name, 1, 0)
        flush()
    }

    /// Presses a key and lets it go.
    ///
    /// - Parameter key: one of GDK's, whose numbers are the X server's.
    func type(_ key: Int32) {
        typealias CodeOf = @convention(c) (OpaquePointer, UInt) -> UInt8
        typealias Press = @convention(c) (OpaquePointer, UInt32, Int32, UInt) -> Int32
        guard let codeOf = function("XKeysymToKeycode", in: library, as: CodeOf.self),
            let press = function("XTestFakeKeyEvent", in: testLibrary, as: Press.self)
        else { return }
        let code = UInt32(codeOf(display, UInt(key)))
        for isDown: Int32 in [1, 0] { _ = press(display, code, isDown, 0) }
        flush()
    }
}
