import CommandReference
import FoundationEssentials
import ProgramSupport
import WebImageGTK

/// The arguments of the command line.
struct GalleryArguments {
    /// The paths and URLs to open, in order.
    var locations: [String]
    /// The list of locations. It is read once, because it may be a pipe.
    var list: LocationList?
    /// The directory of the disk cache; `nil` for the program's default directory.
    var cacheDirectory: URL?
    /// The file for a screenshot of the window. The program ends when it is saved.
    var screenshotPath: String?
    /// The file for the figures and the positions of the visible cells. Requires a screenshot.
    var reportPath: String?
    /// The window's size in points. The default fits 30 photographs.
    var windowSize = PixelSize(width: 1280, height: 900)
    /// The page to show; `nil` for the viewer if the only location is an image, and else for the images.
    var page: GalleryWindow.Page?
    /// The image to open in the viewer, counted from 0.
    var viewedIndex: Int?
    /// Light or dark; `nil` for the desktop's choice.
    var colorScheme: ColorSchemeChoice?

    /// What to open: the locations, or without any the folder opened last, if the settings say so and it is there.
    func locations(orLast settings: GallerySettings.Values) -> [String] {
        guard locations.isEmpty, list == nil, page == nil, settings.opensLastFolder, !settings.lastFolder.isEmpty,
            let folder = LocationReader.path(of: settings.lastFolder), FileStamp(path: folder) != nil
        else { return locations }
        return [settings.lastFolder]
    }

    /// The reason why arguments are invalid.
    struct Refusal: Error {
        let reason: String
    }

    /// The name under which the program was started: it is installed as `webimage-gallery`.
    static var programName: String {
        CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? "Gallery"
    }

    private static var pageNames: String { GalleryWindow.Page.all.map(\.name).joined(separator: ", ") }

    /// Parses the command line.
    init(parsing arguments: [String]) throws(Refusal) {
        let given: CommandArguments
        do throws(CommandArguments.Failure) {
            given = try CommandArguments(Array(arguments.dropFirst()), for: Self.syntax(of: Self.programName))
        } catch {
            throw Refusal(reason: texts.string(for: error.reason))
        }
        locations = given.operands.map(\.description)
        try apply(given)
    }

    private mutating func apply(_ given: CommandArguments) throws(Refusal) {
        if let path = given.text(of: "list") {
            do { list = try LocationList(path: SystemString(path)) } catch {
                throw Refusal(reason: localized("the list cannot be read: {error}", ["error": error.userDescription]))
            }
        }
        if let name = given.text(of: "page") {
            guard let page = GalleryWindow.Page.all.first(where: { $0.name == name }) else {
                throw Refusal(reason: localized("--page takes {names}", ["names": Self.pageNames]))
            }
            self.page = page
        }
        if let number = given.text(of: "view") {
            guard let number = Int(number), number > 0 else {
                throw Refusal(reason: localized("--view takes a number from 1"))
            }
            viewedIndex = number - 1
        }
        if let name = given.text(of: "scheme") {
            guard let scheme = ColorSchemeChoice(rawValue: name), scheme != .system else {
                throw Refusal(reason: localized("--scheme takes light or dark"))
            }
            colorScheme = scheme
        }
        cacheDirectory = given.text(of: "cache-dir").map { URL(filePath: $0) }
        screenshotPath = given.text(of: "screenshot")
        reportPath = given.text(of: "report")
        if reportPath != nil, screenshotPath == nil { throw Refusal(reason: localized("--report needs --screenshot")) }
        if reportPath != nil, page ?? .photos != .photos || viewedIndex != nil {
            throw Refusal(reason: localized("--report is for the page photos"))
        }
        if let size = given.text(of: "size") { windowSize = try Self.size(size) }
    }

    private static func size(_ text: String) throws(Refusal) -> PixelSize {
        let sides = text.split(separator: "x").compactMap { Int($0) }
        guard sides.count == 2, sides.allSatisfy({ (100...10_000).contains($0) }) else {
            throw Refusal(
                reason: localized("--size takes WIDTHxHEIGHT, each from 100 to 10000, not '{text}'", ["text": text]))
        }
        return PixelSize(width: sides[0], height: sides[1])
    }
}
