internal import FoundationEssentials
internal import Glibc
internal import WebImage

/// The destination and encoding of images written by `get` and `convert`.
struct ImageOutput: Sendable {
    private enum Target {
        case file(String)
        case directory(String, names: [OutputNames.Name])
    }

    private let target: Target
    private let encoding: EncodingRequest
    /// Input files, which must not be replaced.
    private let inputFiles: [String]
    private let replaces: Bool

    /// Chooses all names; only checks whether `path` is a directory.
    ///
    /// - Parameters:
    ///   - replaces: whether to replace existing files.
    ///   - mayReplaceInput: whether this includes the input, if `path` names a file.
    init(
        path: String, inputs texts: [String], encoding: EncodingRequest, replaces: Bool, mayReplaceInput: Bool = false,
        parser: OptionParser
    ) throws(ArgumentError) {
        if path.isEmpty { throw parser.error("--output takes a file or a directory") }
        self.replaces = replaces
        let inputs = texts.map { try? ImageInput($0) }
        var encoding = encoding
        let isDirectory =
            path != OutputFile.standardOutput && (path.hasSuffix("/") || OutputFile.isDirectory(path))
        if texts.count == 1, !isDirectory {
            target = .file(path)
            if encoding.isNeeded { encoding.format = encoding.format ?? ImageFormat(fileName: path) }
        } else {
            let ending: OutputNames.Ending =
                if let format = encoding.format { .format(format) } else if encoding.isNeeded { .image } else { .own }
            var names = OutputNames()
            // An input that is not a URL fails before its name is used.
            target = .directory(path, names: inputs.map { names.name(for: $0?.url, ending: ending) })
        }
        if let format = encoding.format { try encoding.check(for: format, parser: parser) }
        self.encoding = encoding
        inputFiles =
            mayReplaceInput && !isDirectory
            ? [] : inputs.compactMap { $0?.isFile == true ? $0?.url.path(percentEncoded: false) : nil }
    }

    /// The format on the command line, if any, which applies to all images.
    var format: ImageFormat? { encoding.format }

    /// Whether this object chooses the names.
    var isDirectory: Bool {
        if case .directory = target { return true }
        return false
    }

    /// Whether the image goes to standard output.
    var isStandardOutput: Bool {
        if case .file(OutputFile.standardOutput) = target { return true }
        return false
    }

    /// Throws, before anything is loaded, if the image could not be written because its file exists and must not be
    /// replaced.
    func checkFile(index: Int) throws(WebImageError) {
        let path: String?
        switch target {
        case .file(let file): path = file
        case .directory(let directory, let names):
            path = names[index].fileExtension == nil ? nil : Self.path(of: names[index], in: directory, for: .png)
        }
        if !replaces, let path, OutputFile.isFile(path) { throw .file(path: path, errno: EEXIST) }
    }

    /// Whether the original bytes are written, so that pixels alone are not enough.
    var writesBytes: Bool { !encoding.isNeeded }

    /// Whether ``write(_:bytes:index:)`` needs the original bytes.
    var needsBytes: Bool { writesBytes || encoding.metadata == .all }

    /// Encodes and writes an image on a thread that may block.
    ///
    /// - Parameters:
    ///   - bytes: the original bytes.
    ///   - index: the index of the input.
    /// - Returns: the file's path, and what was written.
    func write(
        _ image: Image, bytes: Data?, index: Int
    ) async throws(WebImageError) -> (path: String, data: Data) {
        try await BlockingWork.run { () throws(WebImageError) in
            let data: Data = if writesBytes, let bytes { bytes } else { try encoding.encode(image, original: bytes) }
            let path = try path(for: image, index: index)
            // `get DIR/a.png --size 100x100 -o DIR` must not overwrite the original.
            guard !inputFiles.contains(where: { OutputFile.isSameFile($0, path) }) else {
                throw .file(path: path, errno: EEXIST)
            }
            try OutputFile.write(data, to: path, replaces: replaces)
            return (path, data)
        }
    }

    private func path(for image: Image, index: Int) throws(WebImageError) -> String {
        switch target {
        case .file(let path):
            return path
        case .directory(let directory, let names):
            try OutputFile.createDirectory(directory)
            let format = writesBytes ? image.format ?? .png : encoding.format(for: image)
            return Self.path(of: names[index], in: directory, for: format)
        }
    }

    private static func path(of name: OutputNames.Name, in directory: String, for format: ImageFormat) -> String {
        directory + (directory.hasSuffix("/") ? "" : "/") + name.fileName(for: format)
    }
}

extension ImageFormat {
    /// Creates the known format for a file's extension.
    init?(fileName: String) {
        guard let dot = fileName.lastIndex(of: "."), !fileName[dot...].contains("/") else { return nil }
        self.init(named: String(fileName[dot...]))
    }
}

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
