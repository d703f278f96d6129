internal import WebImage
internal import WebImageCore

extension OptionParser {
    /// The output of a command that makes one image.
    ///
    /// - Parameter inputs: files that must not be replaced.
    func singleOutput(
        path: ByteString, inputs: [ImageInput], encoding: EncodingRequest, replaces: Bool
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

    /// The files that a command reads, and the one that it writes: `IN… OUT`, or `IN… --output OUT`.
    func filesAndOutput(
        _ operands: [ByteString], listing: InputOptions, output: Option
    ) throws(ArgumentError) -> (inputs: [ImageInput], path: ByteString) {
        var operands = operands
        guard let path = output.path ?? operands.popLast(), listing.areGiven || !operands.isEmpty else {
            throw error("\(syntax.name) takes images and the file to write, IN… OUT or IN… --output OUT")
        }
        let inputs = try listing.inputs(operands, parser: self) { (argument) throws(ArgumentError) in
            try file(argument)
        }
        try checkStreams(inputs: inputs.map(\.argument), output: nil, printing: [])
        return (inputs, path)
    }

    /// An input of a command that reads files and standard input only.
    func file(_ argument: ByteString) throws(ArgumentError) -> ImageInput {
        guard let input = try? ImageInput(argument), input.isFile || input.isStandardInput else {
            let name = ImageInput.displayName(of: argument.description)
            throw error("\(name) is not a file; use 'webimage get URL --output FILE' to load an image")
        }
        return input
    }
}
