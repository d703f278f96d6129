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
            let data: Data = if writesBytes, let bytes { bytes } else { try encoding.encode(image) }
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
