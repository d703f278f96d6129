internal import Glibc
internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// The declarations of the options that name many inputs.
struct InputOptions {
    private let recursive: OptionParser.Flag
    private let list: OptionParser.Option

    init(in parser: OptionParser) {
        parser.group = "Input"
        recursive = parser.flag(
            "recursive", letter: "r", help: "Take all images in folders, and in the folders in them")
        list = parser.option(
            "from-file", value: "LIST", completion: .file,
            help:
                "Also take the inputs that LIST names, one per line (not those that begin with #) or ended by NUL; '-' is standard input"
        )
    }

    /// Whether the inputs may be other than the operands.
    var areGiven: Bool { recursive.isSet || !list.paths.isEmpty }

    /// Returns the inputs: the operands, then those of lists, with the images of folders in place of these. The failures say why
    /// folders could not be read: the command goes on without them, and fails at its end.
    ///
    /// - Parameter input: makes an input of an argument.
    func inputs(
        _ operands: [SystemString], parser: OptionParser,
        _ input: (SystemString) throws(ArgumentError) -> ImageInput
    ) throws(ArgumentError) -> (inputs: [ImageInput], failures: [WebImageError]) {
        var (inputs, failures): ([ImageInput], [WebImageError]) = ([], [])
        for (index, argument) in (operands + (try listed(operands, parser))).enumerated() {
            guard argument != ImageInput.standardInput, OutputFile.isDirectory(argument) else {
                var found = try input(argument)
                found.isListed = index >= operands.count
                inputs.append(found)
                continue
            }
            guard recursive.isSet else {
                throw parser.error("'\(argument)' is a folder; use --recursive to take the images in it")
            }
            let content: ImageFolder.Content
            do throws(WebImageError) {
                content = try ImageFolder.content(of: argument)
            } catch {
                failures.append(error)
                continue
            }
            if content.files.isEmpty, content.failures.isEmpty {
                throw parser.error("there is no image in '\(argument)'")
            }
            failures += content.failures
            for file in content.files {
                // A path that begins like an option or a scheme is one all the same.
                var found = try input(file.path)
                (found.folder, found.isListed) = (file.folder, true)
                inputs.append(found)
            }
        }
        if inputs.isEmpty, let failure = failures.first { throw parser.error(failure.shellText()) }
        return (inputs, failures)
    }

    private func listed(_ operands: [SystemString], _ parser: OptionParser) throws(ArgumentError) -> [SystemString] {
        var lines: [SystemString] = []
        var readsStandardInput = operands.contains(ImageInput.standardInput)
        for path in list.paths {
            if path == ImageInput.standardInput {
                if readsStandardInput { throw parser.error("standard input ('-') can be read only once") }
                readsStandardInput = true
            }
            let bytes: [UInt8]
            do throws(WebImageError) {
                bytes = try Self.bytes(of: path)
            } catch {
                throw parser.error(error.shellText())
            }
            let separator = bytes.contains(0) ? 0 : UInt8(ascii: "\n")
            let found = bytes.split(separator: separator).map { line in
                SystemString(separator == 0 || line.last != UInt8(ascii: "\r") ? line : line.dropLast())
            }.filter { separator == 0 || !$0.hasPrefix("#") }
            if found.contains(ImageInput.standardInput) {
                throw parser.error("'-' in a list is no file; a file with this name is './-'")
            }
            lines += found.filter { !$0.isEmpty }
        }
        if !list.paths.isEmpty, lines.isEmpty { throw parser.error("--from-file: the list is empty") }
        return lines
    }

    /// The longest list, so that a wrong file ends early.
    private static let byteLimit = 256 << 20

    private static func bytes(of path: SystemString) throws(WebImageError) -> [UInt8] {
        let isStandardInput = path == ImageInput.standardInput
        let descriptor = isStandardInput ? STDIN_FILENO : path.withCString { open($0, O_RDONLY | O_CLOEXEC) }
        let name = isStandardInput ? StandardInput.name : path.description
        guard descriptor >= 0 else { throw .file(path: name, errno: errno) }
        defer { if !isStandardInput { close(descriptor) } }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .file(path: name, errno: errno) }
            if count == 0 { return bytes }
            bytes += piece[..<count]
            if bytes.count > byteLimit { throw .file(path: name, errno: EFBIG) }
        }
    }
}
