internal import FoundationEssentials
internal import Glibc
internal import WebImage

/// Where `get` writes its pictures, and in what form.
struct PictureOutput: Sendable {
    private enum Target {
        case file(String)
        case directory(String, names: [OutputNames.Name])
    }

    private let target: Target
    private let encoding: EncodingRequest
    private let inputFiles: [String]

    /// Chooses all names; looks only whether `path` is a directory.
    init(path: String, inputs texts: [String], encoding: EncodingRequest, parser: OptionParser) throws(ArgumentError) {
        let inputs = texts.map { try? ImageInput($0) }
        var encoding = encoding
        let isDirectory = path.hasSuffix("/") || OutputFile.isDirectory(path)
        if texts.count == 1, !isDirectory {
            target = .file(path)
            if encoding.isNeeded { encoding.format = encoding.format ?? ImageFormat(fileName: path) }
        } else {
            let ending: OutputNames.Ending =
                if let format = encoding.format { .format(format) } else if encoding.isNeeded { .picture } else { .own }
            var names = OutputNames()
            // An input that is no URL fails before its name is used.
            target = .directory(path, names: inputs.map { names.name(for: $0?.url, ending: ending) })
        }
        if let format = encoding.format { try encoding.check(for: format, parser: parser) }
        self.encoding = encoding
        inputFiles = inputs.compactMap { $0?.isFile == true ? $0?.url.path(percentEncoded: false) : nil }
    }

    /// Whether the original bytes are written, so that pixels alone won't do.
    var writesBytes: Bool { !encoding.isNeeded }

    /// Encodes and writes on a thread of its own.
    ///
    /// - Parameters:
    ///   - bytes: the original ones.
    ///   - index: which input it is.
    /// - Returns: the file's path.
    func write(_ image: Image, bytes: Data?, index: Int) async throws(WebImageError) -> String {
        try await BlockingWork.run { () throws(WebImageError) -> String in
            let data: Data = if writesBytes, let bytes { bytes } else { try encoding.encode(image) }
            let path = try path(for: image, index: index)
            // `get DIR/a.png --size 100x100 -o DIR` must not cost anybody the original.
            guard !inputFiles.contains(where: { OutputFile.isSameFile($0, path) }) else {
                throw .file(path: path, errno: EEXIST)
            }
            try OutputFile.write(data, to: path)
            return path
        }
    }

    private func path(for image: Image, index: Int) throws(WebImageError) -> String {
        switch target {
        case .file(let path):
            return path
        case .directory(let directory, let names):
            try OutputFile.createDirectory(directory)
            let format = writesBytes ? image.format ?? .png : encoding.format(for: image)
            return directory + (directory.hasSuffix("/") ? "" : "/") + names[index].fileName(for: format)
        }
    }
}

extension ImageFormat {
    /// The known format that a file's extension names.
    init?(fileName: String) {
        guard let dot = fileName.lastIndex(of: "."), !fileName[dot...].contains("/") else { return nil }
        self.init(named: String(fileName[dot...]))
    }
}
