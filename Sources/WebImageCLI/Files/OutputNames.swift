internal import FoundationEssentials
internal import WebImage

/// Gives every input of a command a file name of its own, taken from its address.
///
/// A name never leads out of the directory, is never hidden, and never that of another input: the second `a.jpg`
/// becomes `a-2.jpg`. Names depend on the order of the inputs alone, not on which load ends first.
struct OutputNames {
    /// A file name whose extension may be known only once the picture is there.
    struct Name: Hashable {
        let stem: String
        let fileExtension: String?

        /// The whole name; `format` supplies a missing extension.
        func fileName(for format: ImageFormat) -> String { "\(stem).\(fileExtension ?? format.fileExtension)" }
    }

    private var taken: [String: Set<String?>] = [:]

    /// The longest name most file systems take, in bytes (NAME_MAX), less what a number and a temporary name add.
    private static let longestStem = 200

    /// Where the extension comes from.
    enum Ending {
        /// The address, or else the picture: for bytes that are written as they came.
        case own
        /// The picture, whatever the address says.
        case picture
        /// A format that was asked for.
        case format(ImageFormat)
    }

    mutating func name(for url: URL?, ending: Ending) -> Name {
        let (stem, ownExtension) = Self.split(url.map(Self.lastComponent) ?? "")
        let wantedExtension: String? =
            switch ending {
            case .own: ownExtension
            case .picture: nil
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

    /// A name without an extension may get any, so it shares its stem with nobody.
    private func conflicts(_ stem: String, _ fileExtension: String?) -> Bool {
        guard let extensions = taken[stem] else { return false }
        return fileExtension == nil || extensions.contains(nil) || extensions.contains(fileExtension)
    }

    private static func lastComponent(of url: URL) -> String {
        // Decoded first: what "%2F" hides must not count as part of a name.
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
