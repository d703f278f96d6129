import FoundationEssentials
import ProgramSupport
import WebImageGTK

/// A text that lists images, one path or URL a line. Empty lines and those that begin with `#` are left out.
struct LocationList: Sendable {
    /// The path, for messages.
    let name: String
    let text: String

    init(name: String, text: String) { (self.name, self.text) = (name, text) }

    /// Reads a file, also a pipe such as that of `<(find …)`, which can be read only once. Blocks the calling thread.
    init(path: SystemString) throws(WebImageError) {
        let data = try LocalFile.content(path, allowsStreams: true)
        self.init(name: path.description, text: String(decoding: data, as: UTF8.self))
    }

    /// The images, in order.
    var urls: [URL] {
        text.split(whereSeparator: \.isNewline).map { String($0).trimmed }
            .filter { !$0.isEmpty && !$0.hasPrefix("#") }
            .compactMap { line in
                guard line.contains("://") else { return URL(filePath: LocationReader.expanded(line)) }
                return URL(string: line).map { url in
                    url.isFileURL ? LocationReader.path(of: line).map { URL(file: $0) } ?? url : url
                }
            }
    }
}
