internal import FoundationEssentials
internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// Chooses a unique file name for each input of a command, derived from its URL.
///
/// Names never leave the directory, are never hidden, and are never used twice: the second `a.jpg` becomes `a-2.jpg`.
/// Names depend only on the order of the inputs, not on the order in which loads end.
struct OutputNames {
    /// A file name, whose extension may only be known when the image is loaded.
    struct Name: Hashable {
        let stem: SystemString
        let fileExtension: String?

        /// Returns the complete name; `format` determines a missing extension.
        func fileName(for format: ImageFormat) -> SystemString { stem + ".\(fileExtension ?? format.fileExtension)" }
    }

    private var taken: [SystemString: Set<String?>] = [:]

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

    /// Returns a name for each input.
    ///
    /// - Parameter inFolders: whether inputs from different folders may have the same name.
    static func names(of inputs: [ImageInput], ending: Ending, inFolders: Bool) -> [Name] {
        var names: [SystemString: OutputNames] = [:]
        return inputs.map { input in
            names[inFolders ? input.folder : SystemString(""), default: OutputNames()]
                .name(for: input.url, ending: ending)
        }
    }

    mutating func name(for url: URL?, ending: Ending) -> Name {
        let component = Self.safe(url.map(Self.lastComponent) ?? SystemString(""))
        let (ownStem, ownExtension) = Self.split(component)
        let isImage = ownExtension.map { ImageFormat(named: $0) != nil } ?? false
        let (stem, wantedExtension): (SystemString, String?) =
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
    private func conflicts(_ stem: SystemString, _ fileExtension: String?) -> Bool {
        guard let extensions = taken[stem] else { return false }
        return fileExtension == nil || extensions.contains(nil) || extensions.contains(fileExtension)
    }

    private static func lastComponent(of url: URL) -> SystemString {
        // Decoded first, so that a "/" encoded as "%2F" is not part of a name.
        let path = SystemString(percentEncodedPathOf: url).bytes
        return SystemString(path.split(separator: UInt8(ascii: "/")).last ?? [])
    }

    /// The name of a file.
    static func lastComponent(of path: SystemString) -> String {
        SystemString(path.bytes.split(separator: UInt8(ascii: "/")).last ?? []).description
    }

    /// Replaces what a terminal would interpret, and removes periods from the beginning.
    private static func safe(_ component: SystemString) -> SystemString {
        let pieces = component.pieces.map { piece in
            if case .scalar(let scalar) = piece, scalar == "/" || TerminalText.isUnsafe(scalar) {
                return SystemString.Piece.scalar("_")
            }
            return piece
        }
        return SystemString(pieces.drop { $0 == .scalar(".") })
    }

    private static func split(_ component: SystemString) -> (stem: SystemString, fileExtension: String?) {
        guard let dot = component.bytes.lastIndex(of: UInt8(ascii: ".")) else { return (component, nil) }
        let ending = String(decoding: component.bytes[(dot + 1)...], as: UTF8.self)
        guard (1...10).contains(ending.utf8.count), ending.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) })
        else { return (component, nil) }
        return (SystemString(component.bytes[..<dot]), ending)
    }

    private static func shortened(_ stem: SystemString) -> SystemString {
        guard !stem.isEmpty else { return SystemString("image") }
        var (short, pieces) = (stem, stem.pieces)
        while short.bytes.count > longestStem {
            pieces.removeLast()
            short = SystemString(pieces)
        }
        return short
    }
}
