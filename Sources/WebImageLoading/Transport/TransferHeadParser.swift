/// Builds the head of a response from its lines.
struct TransferHeadParser {
    /// Servers send a few hundred bytes; more is an attack on memory and time.
    static let byteLimit = 64 << 10
    /// The limit on informational (1xx) responses. Servers send one or two; each makes the client wait.
    static let informationalLimit = 20

    enum Outcome: Equatable {
        case incomplete
        /// The blank line after a final status has come.
        case complete
        /// The head, with the trailers after the body, is longer than ``byteLimit``.
        case tooLong
        /// There are more informational responses than ``informationalLimit``.
        case tooManyInformational
    }

    private(set) var head = TransferHead(statusCode: 0)
    private var answeredFields: [HTTPField] = []
    private var byteCount = 0
    private var informationalCount = 0
    private(set) var isComplete = false

    /// Whether the last line belongs to an informational (1xx) response.
    var isInformational: Bool { (100..<200).contains(head.statusCode) }

    /// Takes the next line, with its line break.
    mutating func append(_ line: UnsafeRawBufferPointer) -> Outcome {
        byteCount += line.count
        guard byteCount <= Self.byteLimit else { return .tooLong }
        // After the body come trailers, which are ignored; but libcurl stores them all.
        guard !isComplete else { return .incomplete }

        var text = line[...]
        while let last = text.last, Self.isSpace(last) { text = text.dropLast() }
        if text.isEmpty {
            isComplete = head.statusCode >= 200
            return isComplete ? .complete : .incomplete
        }
        if text.starts(with: "HTTP/".utf8) {
            let parts = text.split(separator: UInt8(ascii: " "), maxSplits: 2)
            let code = parts.count > 1 ? Int(String(decoding: parts[1], as: UTF8.self)) : nil
            head = TransferHead(statusCode: code ?? 0)
            head.answeredFields = answeredFields
            if isInformational { informationalCount += 1 }
            guard informationalCount <= Self.informationalLimit else { return .tooManyInformational }
        } else if let colon = text.firstIndex(of: UInt8(ascii: ":")) {
            let value = text[(colon + 1)...].drop(while: Self.isSpace)
            head.fields.append(
                HTTPField(
                    name: String(decoding: text[..<colon], as: UTF8.self), value: String(decoding: value, as: UTF8.self)
                ))
        }
        return .incomplete
    }

    /// Starts the next head, after a 401 or 407 for which libcurl has repeated the request itself.
    mutating func beginNextHead() {
        answeredFields = head.fields
        head = TransferHead(statusCode: 0)
        isComplete = false
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
            || byte == UInt8(ascii: "\n")
    }
}
