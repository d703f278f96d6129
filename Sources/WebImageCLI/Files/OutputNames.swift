internal import FoundationEssentials
internal import WebImage

/// Chooses a unique file name for each input of a command, derived from its URL.
///
/// Names never leave the directory, are never hidden, and are never used twice: the second `a.jpg` becomes `a-2.jpg`.
/// Names depend only on the order of the inputs, not on the order in which loads end.
struct OutputNames {
    /// A file name, whose extension may only be known when the image is loaded.
    struct Name: Hashable {
        let stem: String
        let fileExtension: String?

        /// Returns the complete name; `format` determines a missing extension.
        func fileName(for format: ImageFormat) -> String { "\(stem).\(fileExtension ?? format.fileExtension)" }
    }

    private var taken: [String: Set<String?>] = [:]

    /// The longest name on most file systems, in bytes (NAME_MAX), minus space for a number and a temporary name.
    private static let longestStem = 200

    /// The source of the extension.
    enum Ending {
        /// The URL, or else the image; for bytes that are written unchanged.
        case own
        /// The image, regardless of the URL.
        case image
        /// The requested format.
        case format(ImageFormat)
    }

    mutating func name(for url: URL?, ending: Ending) -> Name {
        let (stem, ownExtension) = Self.split(url.map(Self.lastComponent) ?? "")
        let wantedExtension: String? =
            switch ending {
            case .own: ownExtension
            case .image: nil
            case .format(let format): format.fileExtension
            }
        var candidate = stem
        var number = 1
        while conflicts(candidate, wantedExtension) {
            number += 1
            candidate = "\(stem)-\(number)"
        }
        taken[candidate, default: []].insert(wantedExtension)
        return Name(stem: candidate, fileExtension: wantedExtension)
    }

    /// A name without an extension may receive any, so its stem must be unique.
    private func conflicts(_ stem: String, _ fileExtension: String?) -> Bool {
        guard let extensions = taken[stem] else { return false }
        return fileExtension == nil || extensions.contains(nil) || extensions.contains(fileExtension)
    }

    private static func lastComponent(of url: URL) -> String {
        // Decoded first, so that a "/" encoded as "%2F" is not part of a name.
        url.path(percentEncoded: false).split(separator: "/").last.map(String.init) ?? ""
    }

    private static func split(_ component: String) -> (stem: String, fileExtension: String?) {
        let safe = String(
            String.UnicodeScalarView(
                component.unicodeScalars.map { scalar in
                    scalar == "/" || scalar.value < 0x20 || scalar.value == 0x7F ? "_" : scalar
                }))
        let visible = safe.drop { $0 == "." }
        let dot = visible.lastIndex(of: ".")
        let ending = dot.map { visible[visible.index(after: $0)...] } ?? ""
        let hasExtension =
            (1...10).contains(ending.utf8.count) && ending.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        let stem = shortened(String(hasExtension ? visible[..<(dot ?? visible.endIndex)] : visible))
        return (stem.isEmpty ? "image" : stem, hasExtension ? String(ending) : nil)
    }

    private static func shortened(_ stem: String) -> String {
        guard stem.utf8.count > longestStem else { return stem }
        var short = stem
        while short.utf8.count > longestStem { short.removeLast() }
        return short
    }
}
