internal import FoundationEssentials
internal import Glibc
internal import WebImageCore
internal import WebImageLoading

/// The file in a body of `multipart/form-data` (RFC 7578), as it arrives. A body has one file, and perhaps fields, which are ignored.
struct MultipartFile<Base: AsyncSequence<Data, any Error>>: AsyncSequence {
    typealias Element = Data
    typealias Failure = any Error

    let body: Base
    let boundary: String
    /// Gets the type of the file, before its first byte is returned.
    let claim: LockBox<String?>

    func makeAsyncIterator() -> Iterator {
        Iterator(body: body.makeAsyncIterator(), form: MultipartForm(boundary: boundary), claim: claim)
    }

    struct Iterator: AsyncIteratorProtocol {
        var body: Base.AsyncIterator
        var form: MultipartForm
        let claim: LockBox<String?>

        mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Data? {
            while form.content.isEmpty {
                guard let piece = try await body.next(isolation: actor) else {
                    try form.finish()
                    return nil
                }
                try form.append(piece)
            }
            claim.withLock { [type = form.contentType] in $0 = type }
            defer { form.content = Data() }
            return form.content
        }
    }
}

/// Reads a form.
///
///     --BOUNDARY ─► head ─► content ─► --BOUNDARY ─► … ─► --BOUNDARY--
///
/// Text before the first boundary and behind the last one, which would mean nothing, is refused.
struct MultipartForm {
    /// Bytes of the file that were not taken yet.
    var content = Data()
    /// The type that the head of the file states; `nil` without one.
    private(set) var contentType: String?

    private enum Stage { case start, boundary, head, file, field, end }

    private let delimiter: [UInt8]
    private var stage = Stage.start
    private var hasFile = false
    private var fieldByteCount = 0
    /// The bytes that were not read yet. A line break precedes the first boundary as it does the others.
    private var rest = Data("\r\n".utf8)

    /// The longest head of a part, and the most bytes of all fields, in bytes.
    private static let (headByteLimit, fieldByteLimit) = (8 << 10, 64 << 10)
    /// By how much a form may be longer than its file: that, with the boundaries.
    static let longestExcess = 80 << 10

    init(boundary: String) { delimiter = Array("\r\n--\(boundary)".utf8) }

    mutating func append(_ data: Data) throws(UploadRejection) {
        rest.append(data)
        while try readNext() {}
    }

    /// Checks that the form is whole.
    func finish() throws(UploadRejection) {
        guard stage == .end, rest.isEmpty else { throw Self.invalid("is not complete") }
        guard hasFile else { throw Self.invalid("has no file") }
    }

    /// Returns whether there may be more to read.
    private mutating func readNext() throws(UploadRejection) -> Bool {
        switch stage {
        case .start, .file, .field: return try readContent()
        case .boundary: return try readBoundary()
        case .head: return try readHead()
        case .end:
            guard rest.isEmpty || "\r\n".utf8.starts(with: rest) else {
                throw Self.invalid("does not end with its last boundary")
            }
            if rest.count == 2 { rest = Data() }
            return false
        }
    }

    /// Reads until the next boundary.
    private mutating func readContent() throws(UploadRejection) -> Bool {
        let end = rest.firstOffset(of: delimiter)
        // A boundary may have begun at the end.
        let count = end ?? max(0, rest.count - delimiter.count + 1)
        switch stage {
        case .file: content.append(rest.prefix(count))
        case .field:
            fieldByteCount += count
            guard fieldByteCount <= Self.fieldByteLimit else { throw Self.invalid("has too long fields") }
        default: guard count == 0 else { throw Self.invalid("does not begin with its boundary") }
        }
        rest = Data(rest.dropFirst(end == nil ? count : count + delimiter.count))
        if end != nil { stage = .boundary }
        return end != nil
    }

    /// Reads what is behind a boundary.
    private mutating func readBoundary() throws(UploadRejection) -> Bool {
        guard rest.count >= 2 else { return false }
        switch rest.prefix(2) {
        // It remains, so that each line of the head has one before it.
        case Data("\r\n".utf8): stage = .head
        case Data("--".utf8):
            rest = Data(rest.dropFirst(2))
            stage = .end
        default: throw Self.invalid("has an invalid boundary")
        }
        return true
    }

    private mutating func readHead() throws(UploadRejection) -> Bool {
        guard let end = rest.firstOffset(of: Array("\r\n\r\n".utf8)), end <= Self.headByteLimit else {
            guard rest.count <= Self.headByteLimit else { throw Self.invalid("has a too long head") }
            return false
        }
        let lines = String(decoding: rest.prefix(end), as: UTF8.self).split(separator: "\r\n")
        rest = Data(rest.dropFirst(end + 4))
        let fields = lines.map { line in
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            return HTTPHeader(
                name: String(line[..<colon]), value: String(line[colon...].dropFirst()).trimmingHTTPSpace)
        }
        guard let disposition = fields.combinedValue(named: "Content-Disposition").map({ MediaType($0) }),
            disposition.name == "form-data"
        else { throw Self.invalid("has a part without a name") }
        guard disposition.parameter("filename") != nil || disposition.parameter("filename*") != nil else {
            fieldByteCount += end
            stage = .field
            return true
        }
        guard !hasFile else { throw Self.invalid("has several files") }
        guard fields.combinedValue(named: "Content-Transfer-Encoding").map({ $0.lowercased() == "binary" }) ?? true
        else { throw Self.invalid("has an encoded file") }
        (stage, hasFile) = (.file, true)
        contentType = fields.combinedValue(named: "Content-Type")
        return true
    }

    private static func invalid(_ text: String) -> UploadRejection {
        .refused(status: 400, reason: "The form \(text).")
    }
}

/// A value with parameters, such as `multipart/form-data; boundary=x` (RFC 9110, 5.6.6).
struct MediaType {
    /// In lower case.
    let name: String
    private let parameters: [(name: String, value: String)]

    init(_ text: String) {
        var parts: [[UInt8]] = [[]]
        var (isQuoted, isEscaped) = (false, false)
        for byte in text.utf8 {
            if byte == UInt8(ascii: ";"), !isQuoted {
                parts.append([])
                continue
            }
            if isQuoted, !isEscaped, byte == UInt8(ascii: "\\") {
                isEscaped = true
                continue
            }
            if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() } else { parts[parts.count - 1].append(byte) }
            isEscaped = false
        }
        let texts = parts.map { String(decoding: $0, as: UTF8.self).trimmingHTTPSpace }
        name = texts[0].lowercased()
        parameters = texts.dropFirst().compactMap { text in
            guard let sign = text.firstIndex(of: "=") else { return nil }
            return (text[..<sign].lowercased(), String(text[text.index(after: sign)...]))
        }
    }

    /// Returns the value of a parameter, whose name is in lower case; `nil` without one.
    func parameter(_ name: String) -> String? { parameters.first { $0.name == name }?.value }
}

extension Data {
    /// Where a text begins, counted from the first byte; `nil` if it is not there.
    fileprivate func firstOffset(of text: [UInt8]) -> Int? {
        withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, bytes.count >= text.count else { return nil }
            var offset = 0
            let last = bytes.count - text.count
            while offset <= last, let found = memchr(base + offset, Int32(text[0]), last + 1 - offset) {
                offset = UnsafeRawPointer(found) - base
                if memcmp(found, text, text.count) == 0 { return offset }
                offset += 1
            }
            return nil
        }
    }
}
