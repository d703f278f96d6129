internal import FoundationEssentials
internal import Glibc
internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// An input of a command: a URL, a file path, or `-` for standard input.
struct ImageInput: Sendable {
    /// As on the command line.
    let argument: SystemString
    let url: URL
    /// The folder of a file found by `--recursive`, relative to the folder on the command line; empty for that one, and
    /// for all other inputs.
    var folder = SystemString("")
    /// Whether it is from a folder or a list, which may name any number of inputs.
    var isListed = false

    /// Stands for standard input; a file with that name is `./-`.
    static let standardInput = SystemString("-")

    /// - Throws: ``WebImageError/invalidURL(_:reason:)``.
    init(_ argument: SystemString) throws(WebImageError) {
        self.argument = argument
        if argument == Self.standardInput {
            url = StandardInput.request.url
            return
        }
        let text = argument.percentEncodingInvalidBytes
        guard Self.hasScheme(text) else {
            if argument.isEmpty || Self.namesHost(text), argument.withCString({ access($0, F_OK) }) != 0 {
                throw .invalidURL(text)
            }
            url = argument.fileURL
            return
        }
        do throws(WebImageError) {
            url = try WebImageRequest(text).url
        } catch {
            // The text as the user wrote it.
            if case .invalidURL(_, nil) = error { throw .invalidURL(text) }
            throw error
        }
    }

    var isFile: Bool { url.isFileURL }

    var isStandardInput: Bool { argument == Self.standardInput }

    /// The path of a file; `nil` for anything else.
    var path: SystemString? { SystemString(fileURL: url) }

    /// Returns the first bytes of a file. Blocks the calling thread.
    ///
    /// - Parameter limit: the maximum number of bytes to read.
    /// - Throws: ``WebImageError/file(path:errno:)``, also for an input that is no file.
    func data(upTo limit: Int) throws(WebImageError) -> Data {
        let name = path?.description ?? argument.description
        let descriptor = path?.withCString { open($0, O_RDONLY | O_CLOEXEC) } ?? -1
        guard descriptor >= 0 else { throw .file(path: name, errno: path == nil ? EINVAL : errno) }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: limit)
        var count = 0
        while count < limit {
            let length = bytes.withUnsafeMutableBytes {
                read(descriptor, $0.baseAddress.map { $0 + count }, limit - count)
            }
            if length < 0, errno == EINTR { continue }
            guard length >= 0 else { throw .file(path: name, errno: errno) }
            if length == 0 { break }
            count += length
        }
        return Data(bytes[..<count])
    }

    /// The name in messages.
    var displayName: String { Self.displayName(of: argument.description) }

    /// The value of `url` in reports.
    var reportedName: String {
        isStandardInput
            ? argument.description : CredentialRedaction.removingUserInformation(fromURL: argument.description)
    }

    /// The name in messages. A `data:` URL is shortened, since it contains its file, and `user:password@` is left out.
    static func displayName(of text: String) -> String {
        if !hasScheme(text), let end = text.prefix(while: { $0 != "/" }).lastIndex(of: "@"),
            text[..<end].contains(":"), access(text, F_OK) != 0
        {
            return String(text[text.index(after: end)...])
        }
        if text.utf8.count > 128, text.prefixMatch(of: /\s*[Dd][Aa][Tt][Aa]:/) != nil { return text.prefix(64) + "…" }
        return text == standardInput.description
            ? StandardInput.name : CredentialRedaction.removingUserInformation(fromURL: text)
    }

    /// The value of `source` in reports of `get`.
    var sourceName: String {
        if isStandardInput { return "stdin" }
        return switch url.scheme?.lowercased() {
        case "file": "file"
        case "data": "data"
        default: "network"
        }
    }

    /// Whether a text without a scheme is more likely a URL than a path: `127.0.0.1:8080/a.jpg`, `localhost/a.jpg`,
    /// `www.example.org`, `user:password@host`, `https:/host`.
    private static func namesHost(_ text: String) -> Bool {
        let address =
            /([^\/:@]+:[^\/]*@.+|https?:.*|localhost|www\..+|[0-9]+(\.[0-9]+){3}|[^\/.:]+(\.[^\/.:]+)*\.(com|net|org|example))(:[0-9]+)?|[^\/:]+:[0-9]+/
        return text.prefix { $0 != "/" }.wholeMatch(of: address) != nil
    }

    /// Whether the text starts with `scheme://` (RFC 3986, 3.1) or `data:`, after any spaces; paths may contain colons,
    /// too.
    private static func hasScheme(_ text: String) -> Bool {
        text.prefixMatch(of: /\s*(?:[A-Za-z][A-Za-z0-9+.\-]*:\/\/|[Dd][Aa][Tt][Aa]:)/) != nil
    }
}

/// An image from standard input.
enum StandardInput {
    /// The name in errors.
    static let name = "standard input"

    /// A request for the image, which is not cached and can be loaded once.
    static var request: WebImageRequest {
        var request = WebImageRequest(id: "stdin", isCacheable: false) { try await bytes() }
        request.cachePolicy = .reload
        return request
    }

    /// Reads at most 200 MiB to the end, on a thread that may block.
    ///
    /// - Throws: ``WebImageError/file(path:errno:)``, with `ENODATA` for no bytes at all, with `EFBIG` for more than a
    ///   file may have.
    static func bytes() async throws(WebImageError) -> Data {
        try await BlockingWork.run { () throws(WebImageError) in
            var data = Data()
            var piece = [UInt8](repeating: 0, count: 1 << 20)
            while true {
                let count = read(STDIN_FILENO, &piece, piece.count)
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN {
                    // Another process that shares it may have made it nonblocking.
                    var request = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
                    poll(&request, 1, -1)
                    continue
                }
                guard count >= 0 else { throw .file(path: name, errno: errno) }
                guard count > 0 else { break }
                data.append(contentsOf: piece[..<count])
                guard data.count <= byteLimit else { throw .file(path: name, errno: EFBIG) }
            }
            guard !data.isEmpty else { throw .file(path: name, errno: ENODATA) }
            return data
        }
    }

    /// Nothing tells where a pipe ends, and its bytes are in memory.
    static let byteLimit = Int(FileLoader().maximumByteCount)
}
