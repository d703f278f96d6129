import CommandReference
import ProgramSupport
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

    /// What the options do.
    private enum Text {
        static let list: LocalizableText = "Open the locations in FILE, one per line"
        static let cache: LocalizableText = "Use the disk cache in DIR"
        static let page: LocalizableText = "Begin with this page, such as photos or statistics"
        static let view: LocalizableText = "Open this image in the viewer; 1 is the first"
        static let size: LocalizableText = "The window's size in points; 1280x900 by default"
        static let scheme: LocalizableText = "light or dark; by default the desktop's choice"
        static let screenshot: LocalizableText = "Save the window as a PNG when all images have loaded, and exit"
        static let report: LocalizableText = "Save the figures and the positions of the images as JSON"
        static let manual: LocalizableText = "Print the manual page, in the format of man"
        static let summary: LocalizableText =
            "Shows images from the web, from files, from folders and from web pages, and where each came from"
        static let statuses: LocalizableText = "Exit status:"
        static let success: LocalizableText = "Success; with '--screenshot', all visible images have loaded."
        static let failure: LocalizableText = "Something failed, or there is no display."
        static let refusal: LocalizableText = "The arguments are invalid."

        static var details: LocalizableText {
            "Pages: photos, statistics, learn, and the pages that learn lists: \(PageName.allCases.map(\.rawValue).joined(separator: ", "))."
        }
    }

    static let options: [CommandSyntax.Option] = [
        option("list", "FILE", Text.list, completion: .file),
        option("cache-dir", "DIR", Text.cache, completion: .directory),
        option("page", "NAME", Text.page),
        option("view", "NUMBER", Text.view),
        option("size", "WxH", Text.size),
        option("scheme", "NAME", Text.scheme),
        option("screenshot", "FILE", Text.screenshot, completion: .file),
        option("report", "FILE", Text.report, completion: .file),
        CommandSyntax.Option(name: "help", letter: "h", help: "Print this help and exit"),
        option("man", nil, Text.manual),
        option("version", nil, "Print the version and exit"),
    ]

    private static func option(
        _ name: String, _ value: String?, _ help: LocalizableText, completion: CommandSyntax.Completion = .text
    ) -> CommandSyntax.Option {
        CommandSyntax.Option(name: name, valueName: value, completion: completion, help: help)
    }

    /// - Parameter texts: translates the details; `nil`, the default, for English.
    static func syntax(of program: String, in texts: TextDomain? = nil) -> CommandSyntax {
        CommandSyntax(
            program: program, summary: Text.summary, operands: "[URL|FILE|FOLDER…]",
            details: texts?.string(for: Text.details) ?? Text.details.english, options: options)
    }

    private static var help: String {
        HelpText.text(for: syntax(of: programName, in: texts), in: texts) + "\n\(texts.string(for: Text.statuses))\n"
            + HelpText.table(statuses.map { ($0.term, texts.string(for: $0.text)) })
    }

    private static let statuses: [ProgramDescription.Row] = [
        ("0", Text.success), ("1", Text.failure), ("2", Text.refusal),
    ]

    private static var manualPage: String {
        ManualPage(description, commands: [syntax(of: description.name)], origin: "\(description.name) --man").text
    }

    private static let description = ProgramDescription(
        name: "webimage-gallery", tagline: "view images, and see where they come from",
        text: Text.summary.english + ".",
        statuses: statuses,
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
                    ("NAME.xmp", "The stars and tags of the image NAME, beside it."),
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
