import CWebImageGTK
import Dispatch
import FoundationEssentials
import Glibc
import ProgramSupport
import WebImageGTK

/// Finds the images at a location: an image, a folder, a list of locations, or a web page.
///
/// A cancelled task stops at the next entry of a folder. What it has found by then may still be reported.
struct LocationReader: Sendable {
    let manager: WebImageManager
    var scanner = FolderScanner()

    /// The images that are found at once: those of a folder, of a list or of a page.
    struct Finding: Sendable {
        /// Empty for a folder that has only others.
        let images: [URL]
        /// The folder that was read, as ``URL/folder`` has it; `nil` if the images are not those of a folder.
        var folder: SystemString?
    }

    typealias Report = @Sendable (Finding) -> Void

    /// Why a location has no images, for users.
    enum Failure: Error, CustomStringConvertible {
        case invalid(String)
        case unreadable(path: String, errorNumber: Int32)
        case noImages(String)
        case load(WebImageError)

        var description: String {
            switch self {
            case .invalid(let text):
                localized("“{text}” is neither a path nor a URL. A URL begins with https://.", ["text": text])
            case .unreadable(let path, let number): "\(path): \(String(cString: strerror(number)))"
            case .noImages(let location):
                localized("{location} has no images that can be shown.", ["location": location])
            case .load(let error): error.userDescription
            }
        }
    }

    /// Calls `report` with the images and the folders at a location, on any thread.
    ///
    /// - Parameter location: a path or a URL.
    func read(_ location: String, _ report: @escaping Report) async throws(Failure) {
        let text = location.trimmed
        guard !text.isEmpty else { throw .invalid(location) }
        if let url = URL.remote(text) { return try await readRemote(url, report) }
        guard let path = Self.path(of: text) else { throw .invalid(text) }
        try await DispatchQueue.files.run { cancellation throws(Failure) in try readLocal(path, cancellation, report) }
    }

    /// Returns the images directly in the folder of a file, and files among them that are known to be images.
    func images(beside file: URL, and known: [URL]) async -> [URL] {
        let folder = file.folder
        return await DispatchQueue.files.run { cancellation in scanner.images(in: folder, and: known, cancellation) }
    }

    /// Calls `report` with the images of a list, on any thread.
    func read(_ list: LocationList, _ report: @escaping Report) async throws(Failure) {
        try await DispatchQueue.files.run { _ throws(Failure) in
            let urls = list.urls
            guard !urls.isEmpty else { throw .noImages(list.name) }
            report(Finding(images: urls))
        }
    }

    // MARK: Files

    private func readLocal(_ file: SystemString, _ cancellation: Cancellation, _ report: Report) throws(Failure) {
        guard !cancellation.isCancelled else { return }
        var status = stat()
        // For messages.
        let path = file.description
        guard file.withCString({ stat($0, &status) }) == 0 else { throw .unreadable(path: path, errorNumber: errno) }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            var isEmpty = true
            let failure = scanner.scan(file, cancellation) { folder, images in
                if !images.isEmpty { isEmpty = false }
                report(Finding(images: images, folder: folder))
            }
            if let failure { throw .unreadable(path: path, errorNumber: failure) }
            if isEmpty, !cancellation.isCancelled { throw .noImages(path) }
            return
        }
        let isList = ["txt", "list", "urls"].contains { path.lowercased().hasSuffix("." + $0) }
        let isPage = ["html", "htm", "xhtml"].contains { path.lowercased().hasSuffix("." + $0) }
        guard isList || isPage else { return report(Finding(images: [URL(file: file)])) }
        let urls: [URL]
        do throws(WebImageError) {
            urls =
                isPage
                ? images(in: try LocalFile.content(file, cancellation: cancellation), of: URL(file: file))
                : try LocationList(path: file).urls
        } catch { throw .load(error) }
        guard !urls.isEmpty else { throw .noImages(path) }
        report(Finding(images: urls))
    }

    /// Returns the path of a location that is not on a server; `nil` if it is no path.
    static func path(of location: String) -> SystemString? {
        let text = location.trimmed
        return text.hasPrefix("file:")
            ? URL(string: text).map { canonical($0.filePath) } : SystemString(expanded(text))
    }

    /// Returns the absolute path, without `~`, `.` and `..`: that of files which have changed is. Links stay.
    static func expanded(_ path: String) -> String {
        let isInHome = path == "~" || path.hasPrefix("~/")
        let home = isInHome ? ProcessInfo.processInfo.environment["HOME"] : nil
        let path = home.map { $0 + path.dropFirst() } ?? path
        return canonical(SystemString(path)).description
    }

    private static func canonical(_ path: SystemString) -> SystemString {
        path.withCString { text in
            guard let canonical = g_canonicalize_filename(text, nil) else { return path }
            defer { g_free(canonical) }
            return SystemString(cString: canonical)
        }
    }

    // MARK: Servers

    private func readRemote(_ url: URL, _ report: @escaping Report) async throws(Failure) {
        // Most addresses tell by their name; others are checked by a request for their type. The response is cached, so
        // an image is not loaded twice.
        guard !url.isData, !scanner.isImage(named: url.lastPathComponent) else {
            return report(Finding(images: [url]))
        }
        let answer: (data: Data, response: LoaderResponse, origin: ImageOrigin)
        do { answer = try await manager.data(for: WebImageRequest(url)) } catch { throw .load(error) }
        let (data, response) = (answer.data, answer.response)
        if let status = response.statusCode, !(200..<300).contains(status) {
            throw .load(.httpStatus(code: status, url: URL(string: url.displayText) ?? url))
        }
        let type = response.headers.last { $0.isNamed("content-type") }?.value.lowercased() ?? ""
        let isPage = type.hasPrefix("text/html") || type.hasPrefix("application/xhtml")
        guard isPage || type.hasPrefix("text/plain") && ImageFormat(signatureOf: data) == nil else {
            return report(Finding(images: [url]))
        }
        try await DispatchQueue.files.run { _ throws(Failure) in
            let urls =
                isPage
                ? images(in: data, of: response.url)
                // A server must not name files of this computer.
                : LocationList(name: url.displayText, text: String(decoding: data, as: UTF8.self)).urls
                    .filter { !$0.isFileURL }
            guard !urls.isEmpty else { throw .noImages(url.displayText) }
            report(Finding(images: urls))
        }
    }

    private func images(in html: Data, of url: URL) -> [URL] {
        PageImages(html: [UInt8](html), url: url, isImage: scanner.isImage).urls
    }
}

extension String {
    /// Without white space at both ends.
    var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
