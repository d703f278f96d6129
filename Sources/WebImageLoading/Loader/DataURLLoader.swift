package import FoundationEssentials
package import WebImageCore

/// Loads `data:` URLs (RFC 2397), which contain their bytes, on its own thread.
///
/// It reads them as browsers do (WHATWG Fetch Standard, "data: URLs"): percent-encoded or base64. Base64 may contain
/// white space and lack its padding.
package final class DataURLLoader: ImageLoader {
    /// The largest decoded length, in bytes; longer ones fail with
    /// ``WebImageError/ResponseFailure/bodyTooLong(byteCount:limit:)``.
    package let maximumByteCount: Int64

    private static let queue = WorkQueue(label: "webimage-data", threadCount: 1)

    package init(maximumByteCount: Int64 = 200 << 20) { self.maximumByteCount = maximumByteCount }

    package func canLoad(_ url: URL) -> Bool { url.scheme?.lowercased() == "data" }

    package func isCacheable(_ url: URL) -> Bool { false }

    /// Starts to decode; see ``ImageLoader/load(_:priority:handler:)``. The response has the URL's media type as its
    /// `Content-Type`.
    ///
    /// It reports ``WebImageError/invalidURL(_:reason:)`` for one that is malformed,
    /// ``WebImageError/ResponseFailure/emptyBody``, and
    /// ``WebImageError/ResponseFailure/bodyTooLong(byteCount:limit:)``.
    package func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let cancellation = Cancellation()
        let limit = maximumByteCount
        let item = Self.queue.submit(priority: priority) {
            let result = Result { () throws(WebImageError) in
                try cancellation.check()
                try Self.decode(request, limit: limit, cancellation: cancellation, handler: handler)
            }
            handler(.finished(result))
        }
        return WorkTask(item: item, cancellation: cancellation)
    }

    private static func decode(
        _ request: LoaderRequest, limit: Int64, cancellation: Cancellation, handler: (LoaderEvent) -> Void
    ) throws(WebImageError) {
        let url = request.url
        let content = try DataURL(url)
        if let refusal = request.refusalToChange(content.urlForErrors) { throw refusal }
        let body = try content.body(limit: limit)
        try cancellation.check()
        handler(
            .response(
                LoaderResponse(
                    url: url, headers: [HTTPField(name: "Content-Type", value: content.mediaType)],
                    expectedByteCount: Int64(body.count))))
        guard request.method == .get else { return }
        guard !body.isEmpty || request.acceptsAnyAnswer else {
            throw .invalidResponse(reason: .emptyBody, url: content.urlForErrors)
        }
        if !body.isEmpty { handler(.bytes(body)) }
    }
}

/// The parts of a `data:` URL: `data:[<media type>][;base64],<data>`.
struct DataURL {
    /// As in the URL, with its parameters.
    let mediaType: String
    /// Only the beginning of a long one, since errors are shown and logged.
    let urlForErrors: URL
    private let isBase64: Bool
    private let encodedBody: ArraySlice<UInt8>

    init(_ url: URL) throws(WebImageError) {
        // The fragment is not part of the data.
        let text = Array(url.absoluteString.utf8.prefix { $0 != UInt8(ascii: "#") })
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else { throw .invalidURL(url.absoluteString) }
        let content = text[(colon + 1)...]
        guard let comma = content.firstIndex(of: UInt8(ascii: ",")) else {
            throw .invalidURL("data:", reason: "it has no comma before its data")
        }
        urlForErrors =
            text.count <= 256 ? url : URL(string: String(decoding: text.prefix(64), as: UTF8.self) + "…") ?? url
        encodedBody = content[(comma + 1)...]
        // Foundation encodes spaces as %20.
        var type = Self.trimmed(String(decoding: Self.percentDecoded(content[..<comma]), as: UTF8.self)[...])
        isBase64 = Self.removeBase64(from: &type)
        type = Self.trimmed(type)
        // The default type (RFC 2397, 2).
        mediaType =
            type.isEmpty ? "text/plain;charset=US-ASCII" : type.hasPrefix(";") ? "text/plain" + type : String(type)
    }

    func body(limit: Int64) throws(WebImageError) -> Data {
        let bytes = Self.percentDecoded(encodedBody)
        guard isBase64 else { return try checked(Data(bytes), limit: limit) }
        var digits = Data(bytes.filter { !Self.isWhiteSpace($0) })
        if digits.count.isMultiple(of: 4) {
            for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
        }
        guard digits.count % 4 != 1 else {
            throw .invalidURL("data:", reason: "its base64 text ends in the middle of a byte")
        }
        // Data's decoder wants the padding that browsers do without.
        digits.append(contentsOf: repeatElement(UInt8(ascii: "="), count: (4 - digits.count % 4) % 4))
        guard let body = Data(base64Encoded: digits) else {
            throw .invalidURL("data:", reason: "its base64 text has invalid characters")
        }
        return try checked(body, limit: limit)
    }

    private func checked(_ body: Data, limit: Int64) throws(WebImageError) -> Data {
        guard body.count <= limit else {
            throw .invalidResponse(reason: .bodyTooLong(byteCount: Int64(body.count), limit: limit), url: urlForErrors)
        }
        return body
    }

    /// Removes `;base64` from the end, with the spaces around the word.
    private static func removeBase64(from type: inout Substring) -> Bool {
        guard type.utf8.count >= 6, type.suffix(6).lowercased() == "base64" else { return false }
        var rest = type.dropLast(6)
        while rest.last == " " { rest.removeLast() }
        guard rest.last == ";" else { return false }
        type = rest.dropLast()
        return true
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0.utf8.allSatisfy(isWhiteSpace) }
        while let last = text.last, last.utf8.allSatisfy(isWhiteSpace) { text.removeLast() }
        return text
    }

    /// A `%` that is not followed by two hexadecimal digits stays (WHATWG URL Standard, "percent-decode").
    private static func percentDecoded(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard text.contains(UInt8(ascii: "%")) else { return text }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.count)
        var index = text.startIndex
        while index < text.endIndex {
            if text[index] == UInt8(ascii: "%"), text.endIndex - index > 2, let high = nibble(text[index + 1]),
                let low = nibble(text[index + 2])
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(text[index])
                index += 1
            }
        }
        return decoded[...]
    }

    private static func nibble(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Tab, line feed, form feed, carriage return, space (WHATWG Infra Standard, "ASCII whitespace").
    private static func isWhiteSpace(_ byte: UInt8) -> Bool { [0x09, 0x0A, 0x0C, 0x0D, 0x20].contains(byte) }
}

/// A load that consists of one work item.
final class WorkTask: LoaderTask {
    private let item: WorkItem
    private let cancellation: Cancellation

    init(item: WorkItem, cancellation: Cancellation) {
        self.item = item
        self.cancellation = cancellation
    }

    /// The work stays queued, ahead of other work, to report its end on the loader's thread as usual.
    func cancel() {
        cancellation.cancel()
        item.setPriority(.veryHigh)
    }

    func setPriority(_ priority: LoadPriority) {
        if !cancellation.isCancelled { item.setPriority(priority) }
    }
}
