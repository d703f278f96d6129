import CWebImageGTK

@testable import WebImageGTK

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
