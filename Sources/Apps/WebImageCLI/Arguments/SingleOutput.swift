internal import ProgramSupport
internal import WebImage
internal import WebImageCore

extension OptionParser {
    /// Declares `--output` of a command that writes an image for each input.
    ///
    /// - Parameter inputs: what the operands are, for the help.
    func outputOption(ofSeveral inputs: LocalizableText) -> Option {
        option(
            "output", letter: "o", value: "FILE|DIR", completion: .file,
            help:
                "Write to FILE, or into DIR (if it exists, ends with /, or there are several \(inputs), a folder or a list), or to names with {name}"
        )
    }

    /// The output of a command that makes one image.
    ///
    /// - Parameter inputs: files that must not be replaced.
    func singleOutput(
        path: SystemString, inputs: [ImageInput], encoding: EncodingRequest, replaces: Bool
    ) throws(ArgumentError) -> ImageOutput {
        if let input = inputs.compactMap(\.path).first(where: { OutputFile.isSameFile($0, path) }) {
            throw error("'\(path)' is the input '\(input)'; choose another name")
        }
        let output = try ImageOutput(path: path, inputs: [], encoding: encoding, replaces: replaces, parser: self)
        guard !output.choosesNames else { throw error("'\(path)' is no file; one image is written") }
        guard output.format != nil else {
            throw error("'\(path)' has no known extension, such as .png")
        }
        return output
    }

    /// An input of a command that reads files and standard input only.
    func file(_ argument: SystemString) throws(ArgumentError) -> ImageInput {
        guard let input = try? ImageInput(argument), input.isFile || input.isStandardInput else {
            let name = ImageInput.displayName(of: argument.description)
            throw error("\(name) is not a file; use 'webimage get URL --output FILE' to load an image")
        }
        return input
    }
}

/// The declarations of a command that makes one image of many, `IN… OUT` or `IN… --output OUT`, in the parser's current group.
struct SingleOutputOptions {
    private let output: OptionParser.Option
    private let noClobber: OptionParser.Flag

    /// - Parameter inputs: what the operands are, for the help.
    init(in parser: OptionParser, ofSeveral inputs: LocalizableText) {
        output = parser.option(
            "output", letter: "o", value: "OUT", completion: .file, help: "Write to OUT; all operands are \(inputs)")
        noClobber = parser.flag("no-clobber", help: "Never replace a file; fail if it exists")
    }

    /// Returns the files that the command reads, why folders could not be read, and the file that it writes.
    func filesAndPath(
        _ operands: [SystemString], listing: InputOptions, from parser: OptionParser
    ) throws(ArgumentError) -> (inputs: [ImageInput], failures: [WebImageError], path: SystemString) {
        var operands = operands
        guard let path = output.path ?? operands.popLast(), listing.areGiven || !operands.isEmpty else {
            throw parser.error("\(parser.syntax.name) takes images and the file to write, IN… OUT or IN… --output OUT")
        }
        let (inputs, failures) = try listing.inputs(operands, parser: parser, parser.file)
        try parser.checkStreams(inputs: inputs.map(\.argument), output: nil, printing: [])
        return (inputs, failures, path)
    }

    /// Returns what writes the image.
    func output(
        path: SystemString, inputs: [ImageInput], encoding: EncodingRequest, from parser: OptionParser
    ) throws(ArgumentError) -> ImageOutput {
        try parser.singleOutput(path: path, inputs: inputs, encoding: encoding, replaces: !noClobber.isSet)
    }
}
