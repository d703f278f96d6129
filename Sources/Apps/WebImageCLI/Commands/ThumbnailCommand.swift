internal import CommandReference
internal import FoundationEssentials
internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// `webimage thumbnail`: makes thumbnails for file managers.
struct ThumbnailCommand: Command {
    static let name = "thumbnail"
    static let summary: LocalizableText = "Make a thumbnail for file managers"
    static let details = """
        Writes a PNG by the thumbnail standard of freedesktop.org, with Thumb::URI, Thumb::MTime, Thumb::Size,
        Thumb::Image::Width and Thumb::Image::Height, readable for its owner only. SIZE is the longest side in
        pixels, 1 to 1024, or normal (128), large (256), x-large (512) or xx-large (1024). Images are upright and
        never enlarged.

        If OUT is a directory, such as ~/.cache/thumbnails, the file is OUT/large/MD5.png, where MD5 is that of
        the URI. With the name of a size, an OUT without an extension is made a directory if there is nothing. A thumbnail of the image as it is now is kept. There, and if OUT is the path of such a file,
        images that cannot be decoded are remembered in OUT/fail until they change.

        Images are read in a separate process, and scaled while they are decoded where the format allows it.
        """

    private let source: ThumbnailSource
    private let output: SystemString
    private let size: ThumbnailSize
    /// The folder in which the thumbnail and failures are remembered; `nil` for a thumbnail elsewhere.
    private let folder: ThumbnailFolder?
    /// Whether a thumbnail that is there already is kept.
    private let keepsCurrent: Bool
    private let isForced: Bool
    private let limits: InputLimits

    init(_ arguments: [SystemString]) throws(ArgumentError) {
        let parser = Self.parser(operands: "URI|FILE OUT SIZE", completion: .file)
        let force = parser.flag("force", help: "Make the thumbnail anew, also of an image that failed before")
        let bounds = InputLimits.Declaration(in: parser, limitsPixels: false)
        let operands = try parser.parse(arguments)
        guard operands.count == 3 else { throw parser.error("thumbnail takes an image, OUT and SIZE") }
        guard let source = ThumbnailSource(operands[0]) else {
            let name = ImageInput.displayName(of: operands[0].description)
            throw parser.error("\(name) is not a file; use 'webimage get URL --output FILE --size 256x256'")
        }
        guard let size = ThumbnailSize(operands[2].description) else {
            let names = ThumbnailSize.names.joined(separator: ", ")
            let sides = ThumbnailSize.sides
            throw parser.error(
                "SIZE is a number from \(sides.lowerBound) to \(sides.upperBound), or one of \(names), not '\(operands[2])'"
            )
        }
        try parser.checkStreams(inputs: [], output: operands[1], printing: [])
        (self.source, self.size, isForced) = (source, size, force.isSet)
        limits = try bounds.limits(from: parser)
        // A size of the standard is for its folders, unless OUT names a file.
        let namesFolder =
            ThumbnailSize.names.contains(operands[2].description) && !OutputFile.exists(operands[1])
            && operands[1].fileExtension == nil
        keepsCurrent = operands[1].hasSuffix("/") || OutputFile.isDirectory(operands[1]) || namesFolder
        guard keepsCurrent else {
            output = operands[1]
            folder = ThumbnailFolder(containing: output, of: source)
            return
        }
        guard let name = size.folder else {
            throw parser.error("a directory has thumbnails of 128, 256, 512 and 1024 pixels, not \(size.side)")
        }
        let folder = ThumbnailFolder(operands[1])
        output = folder.thumbnail(of: source, in: name)
        self.folder = folder
    }

    func run() async -> ExitStatus {
        do throws(WebImageError) {
            let state = try source.state()
            guard !isForced, let folder else {
                try await make(state)
                return .success
            }
            if ThumbnailFolder.isCurrent(folder.failure(of: source), of: source, state) {
                Console.standard.complain(
                    "\(source.input.displayName): failed before, and has not changed. Use --force to try again.")
                return .failure
            }
            if !keepsCurrent || !ThumbnailFolder.isCurrent(output, of: source, state) { try await make(state) }
            return .success
        } catch {
            Console.standard.complain(error.shellText(about: source.input.argument.description))
            return .failure
        }
    }

    private func make(_ state: ThumbnailSource.State) async throws(WebImageError) {
        let file = try await FileLoader.chosenFiles.bytes(at: source.input.url)
        let properties: ThumbnailFile.Properties = [
            ("Thumb::URI", source.uri), ("Thumb::MTime", "\(state.modified)"), ("Thumb::Size", "\(state.byteCount)"),
            ("Software", "\(ProgramDescription.webimage.name) \(LibraryVersion.text)"),
        ]
        try await BlockingWork.run { [self] () throws(WebImageError) in
            let result: ThumbnailRenderer.Result
            do throws(WebImageError) {
                result = try ThumbnailRenderer().thumbnail(
                    of: file, fitting: size, limits: limits.limits(for: source.input))
            } catch {
                // The error of the image is reported even if it cannot be remembered.
                if error.isAboutImage { try? folder?.writeFailure(of: source, properties) }
                throw error
            }
            let sizes = [
                ("Thumb::Image::Width", "\(result.size.width)"), ("Thumb::Image::Height", "\(result.size.height)"),
            ]
            let thumbnail = ThumbnailFile.adding(properties + sizes, to: result.png)
            if let folder {
                try ThumbnailFolder.write(thumbnail, to: output)
                folder.removeFailure(of: source)
            } else {
                // Thumbnail services read from the temporary file that they have opened, and wait for this process.
                if !output.directory.isEmpty { try OutputFile.createDirectory(output.directory) }
                try OutputFile.write(thumbnail, to: output, isPrivate: true, isInPlace: true, waitsForReader: false)
            }
        }
    }
}

extension WebImageError {
    /// Whether decoding the same file again would fail again.
    fileprivate var isAboutImage: Bool {
        switch self {
        case .unrecognizedFormat, .decoding, .limitExceeded: true
        case .isolation(_, .unavailable, _), .isolation(_, .startTimedOut, _), .isolation(_, .missingLayers, _): false
        case .isolation: true
        default: false
        }
    }
}
