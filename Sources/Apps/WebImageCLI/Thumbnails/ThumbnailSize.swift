internal import WebImage

/// The longest side of a thumbnail, and the folder that the freedesktop standard has for it.
struct ThumbnailSize: Sendable, Equatable {
    /// In pixels.
    let side: Int
    /// The folder's name, such as `normal`; `nil` if the standard has none of this size.
    let folder: String?

    /// The standard's sizes, smallest first.
    static let standard = [
        ThumbnailSize(side: 128, folder: "normal"), ThumbnailSize(side: 256, folder: "large"),
        ThumbnailSize(side: 512, folder: "x-large"), ThumbnailSize(side: 1024, folder: "xx-large"),
    ]

    static let sides = 1...1024

    /// The names of the standard's sizes.
    static var names: [String] { standard.compactMap(\.folder) }

    /// Creates the size with a name of the standard, or with a number of pixels.
    init?(_ text: String) {
        if let named = Self.standard.first(where: { $0.folder == text }) {
            self = named
        } else if let side = Int(text), Self.sides.contains(side) {
            self = Self.standard.first { $0.side == side } ?? ThumbnailSize(side: side, folder: nil)
        } else {
            return nil
        }
    }

    private init(side: Int, folder: String?) { (self.side, self.folder) = (side, folder) }

    /// A square into which images are fitted, and which never enlarges them.
    var box: Thumbnail { Thumbnail(.pixels(width: side, height: side)) }
}
