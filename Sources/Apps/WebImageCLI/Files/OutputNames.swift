internal import FoundationEssentials
internal import WebImage
internal import WebImageCore

/// Chooses a unique file name for each input of a command, derived from its URL.
///
/// Names never leave the directory, are never hidden, and are never used twice: the second `a.jpg` becomes `a-2.jpg`.
/// Names depend only on the order of the inputs, not on the order in which loads end.
struct OutputNames {
    /// A file name, whose extension may only be known when the image is loaded.
    struct Name: Hashable {
        let stem: ByteString
        let fileExtension: String?

        /// Returns the complete name; `format` determines a missing extension.
        func fileName(for format: ImageFormat) -> ByteString { stem + ".\(fileExtension ?? format.fileExtension)" }
    }

    private var taken: [ByteString: Set<String?>] = [:]

    /// The longest name on most file systems, in bytes (NAME_MAX), minus space for a number and a temporary name.
    private static let longestStem = 200

    /// The source of the extension.
    enum Ending {
        /// The URL, if its extension names an image format, or else the image; for bytes that are written unchanged.
        case own
        /// The image, regardless of the URL.
        case image
        /// The requested format.
        case format(ImageFormat)
    }

    mutating func name(for url: URL?, ending: Ending) -> Name {
        let component = Self.safe(url.map(Self.lastComponent) ?? ByteString(""))
        let (ownStem, ownExtension) = Self.split(component)
        let isImage = ownExtension.map { ImageFormat(named: $0) != nil } ?? false
        let (stem, wantedExtension): (ByteString, String?) =
            switch ending {
            case .own: isImage ? (ownStem, ownExtension) : (component, nil)
            case .image: (ownStem, nil)
            case .format(let format): (ownStem, format.fileExtension)
            }
        let name = Self.shortened(stem)
        var candidate = name
        var number = 1
        while conflicts(candidate, wantedExtension) {
            number += 1
            candidate = name + "-\(number)"
        }
        taken[candidate, default: []].insert(wantedExtension)
        return Name(stem: candidate, fileExtension: wantedExtension)
    }

    /// A name without an extension may receive any, so its stem must be unique.
    private func conflicts(_ stem: ByteString, _ fileExtension: String?) -> Bool {
        guard let extensions = taken[stem] else { return false }
        return fileExtension == nil || extensions.contains(nil) || extensions.contains(fileExtension)
    }

    private static func lastComponent(of url: URL) -> ByteString {
        // Decoded first, so that a "/" encoded as "%2F" is not part of a name.
        let path = Array(PercentEncodedBytes(Array(url.path(percentEncoded: true).utf8)[...]))
        return ByteString(path.split(separator: UInt8(ascii: "/")).last ?? [])
    }

    /// The name of a file.
    static func lastComponent(of path: ByteString) -> String {
        ByteString(path.bytes.split(separator: UInt8(ascii: "/")).last ?? []).description
    }

    /// Replaces what a terminal would interpret, and removes periods from the beginning.
    private static func safe(_ component: ByteString) -> ByteString {
        let pieces = component.pieces.map { piece in
            if case .scalar(let scalar) = piece, scalar == "/" || TerminalText.isUnsafe(scalar) {
                return ByteString.Piece.scalar("_")
            }
            return piece
        }
        return ByteString(pieces.drop { $0 == .scalar(".") })
    }

    private static func split(_ component: ByteString) -> (stem: ByteString, fileExtension: String?) {
        guard let dot = component.bytes.lastIndex(of: UInt8(ascii: ".")) else { return (component, nil) }
        let ending = String(decoding: component.bytes[(dot + 1)...], as: UTF8.self)
        guard (1...10).contains(ending.utf8.count), ending.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) })
        else { return (component, nil) }
        return (ByteString(component.bytes[..<dot]), ending)
    }

    private static func shortened(_ stem: ByteString) -> ByteString {
        guard !stem.isEmpty else { return ByteString("image") }
        var (short, pieces) = (stem, stem.pieces)
        while short.bytes.count > longestStem {
            pieces.removeLast()
            short = ByteString(pieces)
        }
        return short
    }
}
