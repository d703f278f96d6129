import FoundationEssentials
import Glibc
import WebImageGTK

/// Finds the images at a location: an image, a folder, a list of locations, or a web page.
struct LocationReader: Sendable {
    let manager: WebImageManager
    var scanner = FolderScanner()

    /// Why a location has no images, for people.
    enum Failure: Error, CustomStringConvertible {
        case invalid(String)
        case unreadable(path: String, errorNumber: Int32)
        case noImages(String)
        case load(WebImageError)

        var description: String {
            switch self {
            case .invalid(let text): "“\(text)” is neither a path nor a URL. A URL begins with https://."
            case .unreadable(let path, let number): "\(path): \(String(cString: strerror(number)))"
            case .noImages(let location): "\(location) has no images that can be shown."
            case .load(let error): error.description
            }
        }
    }

    /// Calls `body` with the images at a location, in groups, on any thread.
    ///
    /// - Parameters:
    ///   - location: a path, a URL, or `-` for nothing.
    ///   - isList: whether a local file is a list, whatever its name.
    func read(
        _ location: String, isList: Bool = false, _ body: @escaping @Sendable ([URL]) -> Void
    ) async throws(Failure) {
        let text = location.trimmed
        guard !text.isEmpty else { throw .invalid(location) }
        if let url = Self.remoteURL(text) { return try await readRemote(url, body) }
        let path = text.hasPrefix("file:") ? URL(string: text)?.path(percentEncoded: false) : Self.expanded(text)
        guard let path else { throw .invalid(text) }
        let result: Result<Void, Failure> = await withCheckedContinuation { continuation in
            Self.queue.submit {
                continuation.resume(
                    returning: Result { () throws(Failure) in try readLocal(path, isList: isList, body) })
            }
        }
        try result.get()
    }

    /// Blocking work with files.
    private static let queue = WorkQueue(label: "gallery.files", threadCount: 1)

    /// The images that a list names, a line each. Empty lines and those that begin with `#` are left out.
    static func urls(inList text: String) -> [URL] {
        text.split(whereSeparator: \.isNewline).map { String($0).trimmed }
            .filter { !$0.isEmpty && !$0.hasPrefix("#") }
            .compactMap { line in
                line.contains("://") ? URL(string: line) : URL(filePath: expanded(line))
            }
    }

    // MARK: Files

    private func readLocal(_ path: String, isList: Bool, _ body: ([URL]) -> Void) throws(Failure) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw .unreadable(path: path, errorNumber: errno) }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            var isEmpty = true
            let failure = scanner.scan(path) { urls in
                isEmpty = false
                body(urls)
                return true
            }
            if let failure { throw .unreadable(path: path, errorNumber: failure) }
            if isEmpty { throw .noImages(path) }
            return
        }
        let isText = ["txt", "list", "urls"].contains { path.lowercased().hasSuffix("." + $0) }
        let isPage = ["html", "htm", "xhtml"].contains { path.lowercased().hasSuffix("." + $0) }
        guard isList || isText || isPage else { return body([URL(filePath: path)]) }
        guard let data = try? Data(contentsOf: URL(filePath: path)) else {
            throw .unreadable(path: path, errorNumber: errno)
        }
        let text = String(decoding: data, as: UTF8.self)
        let urls = isPage ? images(in: text, of: URL(filePath: path)) : Self.urls(inList: text)
        guard !urls.isEmpty else { throw .noImages(path) }
        body(urls)
    }

    private static func expanded(_ path: String) -> String {
        guard path == "~" || path.hasPrefix("~/"), let home = ProcessInfo.processInfo.environment["HOME"] else {
            return path
        }
        return home + path.dropFirst()
    }

    // MARK: Servers

    /// The URL that a text contains, also without its scheme: `example.org/a.jpg`.
    static func remoteURL(_ text: String) -> URL? {
        if let url = URL(string: text), let scheme = url.scheme?.lowercased(),
            ["http", "https", "data"].contains(scheme)
        {
            return url
        }
        let host = text.prefix { $0 != "/" }
        guard !text.hasPrefix("/"), !text.hasPrefix("."), !text.hasPrefix("~"), host.contains("."), text.contains("/"),
            access(text, F_OK) != 0
        else { return nil }
        return URL(string: "https://" + text)
    }

    private func readRemote(_ url: URL, _ body: ([URL]) -> Void) async throws(Failure) {
        // Most addresses tell by their name; others are asked for their type. The response is cached, so an image is not
        // loaded twice.
        guard url.scheme?.lowercased() != "data", !scanner.isImage(named: url.lastPathComponent) else {
            return body([url])
        }
        let response: (data: Data, response: LoaderResponse, origin: ImageOrigin)
        do { response = try await manager.data(for: WebImageRequest(url)) } catch { throw .load(error) }
        if let status = response.response.statusCode, !(200..<300).contains(status) {
            throw .load(.httpStatus(code: status, url: url))
        }
        let type = response.response.headers.last { $0.name.lowercased() == "content-type" }?.value.lowercased() ?? ""
        let final = response.response.url
        if type.hasPrefix("text/html") || type.hasPrefix("application/xhtml") {
            let urls = images(in: String(decoding: response.data, as: UTF8.self), of: final)
            guard !urls.isEmpty else { throw .noImages(url.absoluteString) }
            return body(urls)
        }
        if type.hasPrefix("text/plain"), ImageFormat(signatureOf: response.data) == nil {
            let urls = Self.urls(inList: String(decoding: response.data, as: UTF8.self)).filter { !$0.isFileURL }
            guard !urls.isEmpty else { throw .noImages(url.absoluteString) }
            return body(urls)
        }
        body([url])
    }

    private func images(in html: String, of url: URL) -> [URL] {
        PageImages(html: html, url: url, isImage: scanner.isImage).urls
    }
}

extension String {
    /// Without white space at both ends.
    var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
