internal import FoundationEssentials
internal import Glibc
internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// The destination and encoding of images written by `get` and `convert`.
struct ImageOutput: Sendable {
    private enum Target {
        case file(SystemString)
        case directory(SystemString, names: [OutputNames.Name])
        case template(OutputTemplate, names: [SystemString])
    }

    /// A file that ``write(_:bytes:index:steps:)`` has written.
    struct WrittenFile: Sendable {
        let path: SystemString
        let data: Data
        /// The properties of the file, if its name has them.
        let info: ImageInfo?
        /// Why the file may not be what its name says; `nil` if it is.
        let warning: LocalizableText?
    }

    private let target: Target
    private let encoding: EncodingRequest
    /// Whether no option requires encoding, so that an image that has the wanted format is written unchanged.
    private let keepsOriginal: Bool
    /// Whether `--format` names the format, and not the extension of the file.
    private let isFormatGiven: Bool
    /// Input files, which must not be replaced.
    private let inputFiles: [SystemString]
    private let replaces: Bool
    /// The folders and numbers of the inputs, for names.
    private let inputs: [ImageInput]
    /// The files that were written, so that no two images have one name.
    private let written = LockedBox<Set<SystemString>>([])

    /// Chooses all names; only checks whether `path` is a directory or a file.
    ///
    /// - Parameters:
    ///   - replaces: whether to replace existing files.
    ///   - mayReplaceInput: whether this includes the input, if `path` names a file.
    init(
        path: SystemString, inputs: [ImageInput], encoding: EncodingRequest, replaces: Bool,
        mayReplaceInput: Bool = false, parser: OptionParser
    ) throws(ArgumentError) {
        let template = try OutputTemplate(path, parser: parser)
        let isDirectory = template == nil ? try Self.isDirectory(path, inputs: inputs, parser: parser) : false
        self.replaces = replaces
        self.inputs = inputs
        keepsOriginal = !encoding.isNeeded
        isFormatGiven = encoding.format != nil
        var encoding = encoding
        if encoding.splitsFrames, template?.distinguishesFrames != true {
            throw parser.error("--frame all writes several files: name them with {index}, as in '{name}-{index}.png'")
        }
        if let template {
            if encoding.splitsFrames, inputs.count > 1, !template.hasName {
                throw parser.error("frames of several images need {name} and {index} in '\(path)'")
            }
            if inputs.count > 1, !template.distinguishesInputs {
                throw parser.error("several images need {name} or {index} in '\(path)'")
            }
            encoding.format = encoding.format ?? template.format
            let names = OutputNames.names(of: inputs, ending: .image, inFolders: template.usesFolder)
            target = .template(template, names: names.map(\.stem))
        } else if isDirectory {
            let ending: OutputNames.Ending =
                if let format = encoding.format { .format(format) } else if keepsOriginal { .own } else { .image }
            target = .directory(path, names: OutputNames.names(of: inputs, ending: ending, inFolders: true))
        } else {
            target = .file(path)
            encoding.format = encoding.format ?? ImageFormat(fileName: path)
        }
        if let format = encoding.format {
            try encoding.check(for: format, parser: parser)
            guard keepsOriginal || ImageFormat.writable.contains(format) else {
                throw parser.error("\(format.name) cannot be written, only \(ImageFormat.writableNames)")
            }
        }
        self.encoding = encoding
        let choosesNames = isDirectory || template != nil
        inputFiles = mayReplaceInput && !choosesNames ? [] : inputs.compactMap(\.path)
        if !choosesNames, inputFiles.contains(where: { OutputFile.isSameFile($0, path) }) {
            throw parser.error("'\(path)' is the input; use 'webimage convert' to change a file")
        }
    }

    /// Whether the images are written into a directory: one that exists, a path that ends with a slash, or any path for
    /// several images or those of a folder or list, which may be one today and several tomorrow, unless it names a file.
    private static func isDirectory(
        _ path: SystemString, inputs: [ImageInput], parser: OptionParser
    ) throws(ArgumentError) -> Bool {
        if path.isEmpty { throw parser.error("--output takes a file or a directory") }
        if path == OutputFile.standardOutput { return false }
        if OutputFile.isDirectory(path) { return true }
        let exists = OutputFile.exists(path.withoutTrailingSlashes)
        if path.hasSuffix("/") {
            if exists { throw parser.error("'\(path)' is a file, not a directory") }
            return true
        }
        guard inputs.count > 1 || inputs.contains(where: \.isListed) else { return false }
        let noun: LocalizableText = inputs.count > 1 ? "several images" : "images of a folder or a list"
        if exists { throw parser.error("\(noun) need a directory, and '\(path)' is a file") }
        if ImageFormat(fileName: path) != nil {
            throw parser.error("\(noun) need a directory; '\(path)' names one file, and '\(path)/' a directory")
        }
        return true
    }

    /// The format on the command line, if any, which applies to all images.
    var format: ImageFormat? { encoding.format }

    /// Whether this object chooses the names.
    var choosesNames: Bool {
        if case .file = target { return false }
        return true
    }

    /// Whether each frame is a file.
    var splitsFrames: Bool { encoding.splitsFrames }

    /// Whether the image goes to standard output.
    var isStandardOutput: Bool {
        if case .file(OutputFile.standardOutput) = target { return true }
        return false
    }

    /// Throws, before anything is loaded, if the image could not be written because its file exists and must not be
    /// replaced.
    func checkFile(index: Int) throws(WebImageError) {
        let path: SystemString?
        switch target {
        case .file(let file): path = file
        case .directory(let directory, let names):
            path = names[index].fileExtension == nil ? nil : self.path(of: index, names, in: directory, for: .png)
        // Names may depend on the image.
        case .template: path = nil
        }
        if !replaces, let path, OutputFile.isFile(path) { throw .file(path: path.description, errno: EEXIST) }
    }

    /// Whether ``write(_:bytes:index:steps:)`` may need the original bytes.
    var needsBytes: Bool { keepsOriginal || encoding.metadata == .all }

    /// Whether gain maps are kept: the steps after decoding are for ``write(_:bytes:index:steps:)`` then.
    var keepsGainMaps: Bool { encoding.metadata == .all }

    /// Whether images are loaded with the colors of their profiles.
    var keepsColors: Bool { encoding.keepsColors }

    /// Encodes and writes an image on a thread that may block.
    ///
    /// - Parameters:
    ///   - bytes: the original bytes.
    ///   - index: the index of the input.
    ///   - steps: what is still to be done to the image; its gain map follows. `nil` for an image of which it is not known what was done.
    func write(
        _ image: Image, bytes: Data?, index: Int, steps: TrackedSteps? = nil
    ) async throws(WebImageError) -> WrittenFile {
        try await BlockingWork.run { () throws(WebImageError) in
            let (data, format) = try content(of: image, bytes: bytes, steps: steps)
            return try write(data, as: format, index: index)
        }
    }

    /// Writes each frame of an image into a file of its own, like ``write(_:bytes:index:steps:)``.
    func writeFrames(of image: Image, bytes: Data?, index: Int) async throws(WebImageError) -> [WrittenFile] {
        try await BlockingWork.run { () throws(WebImageError) in
            let format = encoding.format(for: image)
            var still = encoding
            still.format = format
            let (count, reader) = (image.animation?.frameCount ?? 1, image.animation?.makeFrameReader())
            var files: [WrittenFile] = []
            for number in 1...count {
                let frame =
                    if let reader { Image(pixels: try reader.frame(at: number - 1, cancellation: nil)) } else { image }
                let data = try still.encode(frame, original: bytes)
                files.append(try write(data, as: format, index: index, frame: (number, count)))
            }
            return files
        }
    }

    private func write(
        _ data: Data, as format: ImageFormat?, index: Int, frame: (number: Int, count: Int)? = nil
    ) throws(WebImageError) -> WrittenFile {
        let (path, info) = try path(for: format, data, index: index, frame: frame)
        // `get DIR/a.png --size 100x100 -o DIR` must not overwrite the original.
        guard !OutputFile.exists(path) || !inputFiles.contains(where: { OutputFile.isSameFile($0, path) }) else {
            throw .file(path: path.description, errno: EEXIST)
        }
        try OutputFile.write(data, to: path, replaces: replaces)
        return WrittenFile(path: path, data: data, info: info, warning: warning(about: path, format: format))
    }

    /// Returns the bytes to write, and their format: the original ones if they have the wanted format and no option
    /// changes the image.
    private func content(
        of image: Image, bytes: Data?, steps: TrackedSteps?
    ) throws(WebImageError) -> (Data, ImageFormat?) {
        if keepsOriginal, let bytes, encoding.format == nil || encoding.format == image.format {
            return (bytes, image.format)
        }
        return (try encoding.encode(image, original: bytes, steps: steps), encoding.format(for: image))
    }

    /// - Parameter frame: the number of the frame in the file, counting from 1, and how many there are; `nil` for an image.
    private func path(
        for format: ImageFormat?, _ data: Data, index: Int, frame: (number: Int, count: Int)? = nil
    ) throws(WebImageError) -> (SystemString, ImageInfo?) {
        switch target {
        case .file(let path):
            return (path, nil)
        case .directory(let directory, let names):
            let path = self.path(of: index, names, in: directory, for: format ?? .png)
            try OutputFile.createDirectory(path.directory)
            return (path, nil)
        case .template(let template, let names):
            let info = template.needsSize ? try encoding.codecs.info(of: data) : nil
            let (number, count) = frame ?? (index + 1, inputs.count)
            let path = template.path(
                name: names[index], folder: inputs[index].folder, size: info?.size, format: format ?? .png,
                index: number, count: count)
            guard written.withLock({ $0.insert(path).inserted }) else {
                throw .file(path: path.description, errno: EEXIST)
            }
            if !path.directory.isEmpty { try OutputFile.createDirectory(path.directory) }
            return (path, info)
        }
    }

    private func path(
        of index: Int, _ names: [OutputNames.Name], in directory: SystemString, for format: ImageFormat
    ) -> SystemString {
        directory.appending(path: inputs[index].folder).appending(path: names[index].fileName(for: format))
    }

    private func warning(about path: SystemString, format: ImageFormat?) -> LocalizableText? {
        guard path != OutputFile.standardOutput, let format, let ending = path.fileExtension else { return nil }
        guard let named = ImageFormat(named: ending) else {
            return isFormatGiven || choosesNames
                ? nil : "\(path): '.\(ending)' names no image format; the file is \(format.name)."
        }
        if named == format { return nil }
        return isFormatGiven
            ? "\(path): the name says \(named.name), but the file is \(format.name), as --format demands."
            : "\(path): the name says \(named.name), but the file is \(format.name), as it came; --format converts it."
    }
}

extension SystemString {
    /// The path before the last slash; `/` if that is the first byte, empty without one.
    var directory: SystemString {
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return SystemString("") }
        return SystemString(bytes[..<max(1, slash)])
    }

    /// Adds a relative path, after a slash if there is none; nothing for an empty one.
    func appending(path: SystemString) -> SystemString {
        if path.isEmpty { return self }
        return isEmpty ? path : self + (hasSuffix("/") ? "" : "/") + path
    }

    fileprivate var withoutTrailingSlashes: SystemString {
        SystemString(bytes[...(bytes.lastIndex { $0 != UInt8(ascii: "/") } ?? bytes.startIndex - 1)])
    }

    /// The text after the last period of a file name; `nil` without one, with nothing behind it, or with nothing before.
    var fileExtension: String? {
        let name = bytes[((bytes.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1)...]
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex, dot + 1 < name.endIndex else {
            return nil
        }
        return SystemString(name[(dot + 1)...]).description
    }
}

extension ImageFormat {
    /// Creates the known format for a file's extension.
    init?(fileName: SystemString) {
        guard let ending = fileName.fileExtension else { return nil }
        self.init(named: ending)
    }
}
