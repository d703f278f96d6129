internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// A name of output files with placeholders, such as `small/{name}-{width}.{format}`.
struct OutputTemplate: Sendable, Equatable {
    enum Placeholder: String, CaseIterable {
        /// The name of the input without extension.
        case name
        /// The folder of the input, relative to the one on the command line.
        case folder
        /// The size of the written image, in pixels.
        case width, height
        /// The extension of the written format.
        case format
        /// The number of the input, or of the frame where each is a file, counting from 1, with leading zeros.
        case index
    }

    private enum Part: Equatable {
        case text(SystemString)
        case placeholder(Placeholder)
    }

    private let parts: [Part]

    /// `nil` for a path without placeholders. Braces around anything but letters are part of the path.
    ///
    /// - Throws: a usage error for an unknown placeholder.
    init?(_ path: SystemString, parser: OptionParser) throws(ArgumentError) {
        var parts: [Part] = []
        var text: [UInt8] = []
        var rest = path.bytes[...]
        while let byte = rest.first {
            guard byte == UInt8(ascii: "{"), let end = rest.firstIndex(of: UInt8(ascii: "}")) else {
                text.append(rest.removeFirst())
                continue
            }
            let word = String(decoding: rest[(rest.startIndex + 1)..<end], as: UTF8.self)
            guard !word.isEmpty, word.allSatisfy({ $0.isASCII && $0.isLetter }) else {
                text.append(rest.removeFirst())
                continue
            }
            guard let placeholder = Placeholder(rawValue: word) else {
                let names = Placeholder.allCases.map { "{\($0.rawValue)}" }.joined(separator: ", ")
                throw parser.error(
                    "unknown placeholder '{\(word)}' in '\(path)'; names can have \(names)")
            }
            if !text.isEmpty { parts.append(.text(SystemString(text))) }
            text = []
            parts.append(.placeholder(placeholder))
            rest = rest[(end + 1)...]
        }
        guard !parts.isEmpty else { return nil }
        if !text.isEmpty { parts.append(.text(SystemString(text))) }
        self.parts = parts
    }

    private func has(_ placeholder: Placeholder) -> Bool { parts.contains(.placeholder(placeholder)) }

    /// Whether several inputs have several names.
    var distinguishesInputs: Bool { has(.name) || has(.index) }
    var distinguishesFrames: Bool { has(.index) }
    var hasName: Bool { has(.name) }
    var usesFolder: Bool { has(.folder) }
    /// Whether the size of the written image is part of the name.
    var needsSize: Bool { has(.width) || has(.height) }

    /// The format that an extension at the end names, as in `{name}.webp`.
    var format: ImageFormat? {
        // Parts before the last text do not change its extension, unless the text is all extension.
        guard case .text(let last)? = parts.last else { return nil }
        return ImageFormat(fileName: SystemString("x") + last)
    }

    /// Returns the path of an image.
    ///
    /// - Parameters:
    ///   - index: the number of the input, counting from 1.
    ///   - count: the number of inputs.
    func path(
        name: SystemString, folder: SystemString, size: PixelSize?, format: ImageFormat, index: Int, count: Int
    ) -> SystemString {
        var path = SystemString("")
        for (number, part) in parts.enumerated() {
            switch part {
            case .text(let text):
                // An empty folder leaves no slash, which could begin an absolute path.
                let isAfterNoFolder =
                    number > 0 && parts[number - 1] == .placeholder(.folder) && folder.isEmpty
                    && (path.isEmpty || path.hasSuffix("/")) && text.hasPrefix("/")
                path = path + (isAfterNoFolder ? SystemString(text.bytes.dropFirst()) : text)
            case .placeholder(.name): path = path + name
            case .placeholder(.folder): path = path + folder
            case .placeholder(.width): path = path + "\(size?.width ?? 0)"
            case .placeholder(.height): path = path + "\(size?.height ?? 0)"
            case .placeholder(.format): path = path + format.fileExtension
            case .placeholder(.index):
                let digits = "\(index)"
                path = path + String(repeating: "0", count: max(0, "\(count)".count - digits.count)) + digits
            }
        }
        return path
    }
}
