import CommandReference
import WebImageGTK

/// The texts that the program prints, made from one table of options.
extension GalleryArguments {
    /// Returns what a flag such as `--help` prints, in place of a window; `nil` without such a flag.
    static func text(for arguments: [String]) -> String? {
        let flags = Set(arguments.prefix { $0 != "--" })
        if !flags.isDisjoint(with: ["--help", "-h"]) { return help }
        if flags.contains("--man") { return manualPage }
        return flags.contains("--version") ? "\(programName) \(LibraryVersion.text)\n" : nil
    }

    static let options: [CommandSyntax.Option] = [
        option("list", "FILE", "Open the locations in FILE, one per line", completion: .file),
        option("cache-dir", "DIR", "Use the disk cache in DIR", completion: .directory),
        option("page", "NAME", "Begin with this page, such as photos or statistics"),
        option("view", "NUMBER", "Open this image in the viewer; 1 is the first"),
        option("size", "WxH", "The window's size in points; 1280x900 by default"),
        option("scheme", "NAME", "light or dark; by default the desktop's choice"),
        option(
            "screenshot", "FILE", "Save the window as a PNG when all images have loaded, and exit", completion: .file),
        option("report", "FILE", "Save the figures and the positions of the images as JSON", completion: .file),
        CommandSyntax.Option(name: "help", letter: "h", help: "Print this help and exit"),
        option("man", nil, "Print the manual page, in the format of man"),
        option("version", nil, "Print the version and exit"),
    ]

    private static func option(
        _ name: String, _ value: String?, _ help: String, completion: CommandSyntax.Completion = .text
    ) -> CommandSyntax.Option {
        CommandSyntax.Option(name: name, valueName: value, completion: completion, help: help)
    }

    static func syntax(of program: String) -> CommandSyntax {
        CommandSyntax(
            program: program, summary: summary, operands: "[URL|FILE|FOLDER…]",
            details: """
                Pages: photos, statistics, learn, and the pages that learn lists:
                \(PageName.allCases.map(\.rawValue).joined(separator: ", ")).
                """, options: options)
    }

    private static let summary =
        "Shows images from the web, from files, from folders and from web pages, and where each came from"

    private static var help: String {
        HelpText.text(for: syntax(of: programName)) + "\nExit status:\n" + HelpText.table(description.statuses)
    }

    private static var manualPage: String {
        ManualPage(description, commands: [syntax(of: description.name)], origin: "\(description.name) --man").text
    }

    private static let description = ProgramDescription(
        name: "webimage-gallery", tagline: "view images, and see where they come from", text: summary + ".",
        statuses: [
            ("0", "Success; with '--screenshot', all visible images have loaded."),
            ("1", "Something failed, or there is no display."), ("2", "The arguments are invalid."),
        ],
        sections: [
            (
                "ENVIRONMENT",
                [
                    ("DISPLAY, WAYLAND_DISPLAY", "The display; one of them is needed."),
                    (
                        "http_proxy, https_proxy, all_proxy, no_proxy",
                        "The proxies to use, and the hosts that are reached without one."
                    ),
                    ("XDG_CACHE_HOME, XDG_CONFIG_HOME", "The directories of FILES, instead of ~/.cache and ~/.config."),
                ]
            ),
            (
                "FILES",
                [
                    ("~/.cache/webimage-gallery/images", "The disk cache."),
                    ("~/.config/swift-web-image/gallery.json", "The preferences and the recent locations."),
                ]
            ),
            (
                "EXAMPLES",
                [
                    ("webimage-gallery ~/Pictures", "Show the images of a folder and of the folders in it."),
                    (
                        "webimage-gallery --view=1 http://127.0.0.1:8080/photo.jpg",
                        "Open an image in the viewer, which says where it came from in its inspector."
                    ),
                    (
                        "find ~ -name '*.avif' | webimage-gallery --list=/dev/stdin",
                        "Show the images that another program finds."
                    ),
                ]
            ), ("SEE ALSO", [("webimage(1)", "Loads, describes and converts images in a shell.")]),
        ])
}
