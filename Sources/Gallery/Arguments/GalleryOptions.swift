import CWebImageGTK

/// The texts of the options, parsed by `GOptionContext`.
struct GalleryOptions {
    private(set) var list: String?
    private(set) var cacheDirectory: String?
    private(set) var screenshot: String?
    private(set) var report: String?
    private(set) var size: String?
    private(set) var page: String?
    private(set) var operands: [String] = []

    #if WEBIMAGE_MAP
        private static let pageHelp: StaticString =
            "Begin with a page: grid, pictures, buttons, animated, progressive or markers"
    #else
        private static let pageHelp: StaticString =
            "Begin with a page: grid, pictures, buttons, animated or progressive"
    #endif

    init(parsing arguments: [String]) throws(GalleryArguments.Refusal) {
        let texts = (0..<6).map { _ in Cell() }
        let rest = Cell()
        let entries =
            [
                Self.entry("list", texts[0], "FILE", "Show the URLs in FILE, one in a line"),
                Self.entry("cache-dir", texts[1], "DIR", "Keep files in DIR"),
                Self.entry("screenshot", texts[2], "FILE", "Save a PNG of the window when all is loaded, and exit"),
                Self.entry("report", texts[3], "FILE", "Save figures and the places of the cells as JSON"),
                Self.entry("size", texts[4], "WxH", "Size of the window in points; 1280x900 by default"),
                Self.entry("page", texts[5], "NAME", Self.pageHelp),
                // G_OPTION_REMAINING is the empty name.
                Self.entry("", rest, "URL...", "", G_OPTION_ARG_FILENAME_ARRAY),
            ] + [GOptionEntry()]

        let context = g_option_context_new(nil)
        defer { g_option_context_free(context) }
        g_option_context_set_summary(
            context,
            "Shows pictures from the web, or files, in a grid, and what the views can do on pages of their own. The exit status is 0, with --screenshot only if every\n"
                + "picture in sight has loaded; 1 if not, or without a display; 2 for wrong arguments.")
        g_option_context_add_main_entries(context, entries, nil)

        var vector = Self.vector(arguments)
        defer { g_strfreev(vector) }
        var failure: UnsafeMutablePointer<GError>?
        guard g_option_context_parse_strv(context, &vector, &failure) != 0 else {
            defer { g_clear_error(&failure) }
            throw GalleryArguments.Refusal(
                reason: failure.map { String(cString: $0.pointee.message) } ?? "the arguments can't be read")
        }
        list = texts[0].takeText()
        cacheDirectory = texts[1].takeText()
        screenshot = texts[2].takeText()
        report = texts[3].takeText()
        size = texts[4].takeText()
        page = texts[5].takeText()
        operands = rest.takeTexts()
    }

    /// Returns an entry. `G_OPTION_ARG_FILENAME` passes bytes unchanged, whereas `G_OPTION_ARG_STRING` converts them from the
    /// locale's encoding.
    private static func entry(
        _ name: StaticString, _ cell: Cell, _ valueName: StaticString, _ help: StaticString,
        _ kind: GOptionArg = G_OPTION_ARG_FILENAME
    ) -> GOptionEntry {
        func text(_ string: StaticString) -> UnsafePointer<gchar> {
            UnsafeRawPointer(string.utf8Start).assumingMemoryBound(to: gchar.self)
        }
        return GOptionEntry(
            long_name: text(name), short_name: 0, flags: 0, arg: kind, arg_data: UnsafeMutableRawPointer(cell.address),
            description: text(help), arg_description: text(valueName))
    }

    /// Returns a null-terminated vector, which GLib shortens in place.
    private static func vector(_ texts: [String]) -> UnsafeMutablePointer<UnsafeMutablePointer<gchar>?>? {
        let size = (texts.count + 1) * MemoryLayout<UnsafeMutablePointer<gchar>?>.stride
        let vector = g_malloc0(gsize(size))?.assumingMemoryBound(to: UnsafeMutablePointer<gchar>?.self)
        for (index, text) in texts.enumerated() { vector?[index] = g_strdup(text) }
        return vector
    }
}

/// The memory to which GLib writes one result.
private final class Cell {
    let address = UnsafeMutablePointer<gpointer?>.allocate(capacity: 1)

    init() { address.initialize(to: nil) }

    deinit { address.deallocate() }

    func takeText() -> String? {
        defer { g_free(address.pointee) }
        return address.pointee.map { String(cString: $0.assumingMemoryBound(to: gchar.self)) }
    }

    func takeTexts() -> [String] {
        guard var next = address.pointee?.assumingMemoryBound(to: UnsafeMutablePointer<gchar>?.self) else { return [] }
        defer { g_strfreev(address.pointee?.assumingMemoryBound(to: UnsafeMutablePointer<gchar>?.self)) }
        var texts: [String] = []
        while let text = next.pointee {
            texts.append(String(cString: text))
            next += 1
        }
        return texts
    }
}
