/// One challenge of a `WWW-Authenticate` or `Proxy-Authenticate` field (RFC 9110 §11.6.1).
struct HTTPChallenge: Equatable {
    /// In lower case, such as `basic`.
    var scheme: String
    var realm: String?

    /// All challenges of all fields; a field may hold several, separated like their parameters by commas.
    static func parse(_ values: [String]) -> [HTTPChallenge] {
        values.flatMap { value -> [HTTPChallenge] in
            var reader = Reader(text: Array(value.utf8))
            var challenges: [HTTPChallenge] = []
            while let item = reader.nextItem() {
                switch item {
                case .scheme(let name): challenges.append(HTTPChallenge(scheme: name, realm: nil))
                case .parameter("realm", let value) where !challenges.isEmpty:
                    let last = challenges.count - 1
                    if challenges[last].realm == nil { challenges[last].realm = value }
                case .parameter: break
                }
            }
            return challenges
        }
    }

    private enum Item {
        case scheme(String)
        case parameter(name: String, value: String)
    }

    private struct Reader {
        let text: [UInt8]
        var position = 0

        mutating func nextItem() -> Item? {
            while true {
                skip { $0 == UInt8(ascii: ",") || Self.isSpace($0) }
                guard position < text.count else { return nil }
                let name = take { !Self.isSpace($0) && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "=") }
                let end = position
                skip(Self.isSpace)
                guard position < text.count, text[position] == UInt8(ascii: "=") else {
                    position = end
                    if name.isEmpty { return nil }
                    return .scheme(name.lowercased())
                }
                skip { $0 == UInt8(ascii: "=") || Self.isSpace($0) }
                return .parameter(name: name.lowercased(), value: takeValue())
            }
        }

        private mutating func takeValue() -> String {
            guard position < text.count, text[position] == UInt8(ascii: "\"") else {
                return take { !Self.isSpace($0) && $0 != UInt8(ascii: ",") }
            }
            position += 1
            var value: [UInt8] = []
            while position < text.count, text[position] != UInt8(ascii: "\"") {
                if text[position] == UInt8(ascii: "\\"), position + 1 < text.count { position += 1 }
                value.append(text[position])
                position += 1
            }
            position += 1
            return String(decoding: value, as: UTF8.self)
        }

        private mutating func take(while isTaken: (UInt8) -> Bool) -> String {
            let start = position
            skip(isTaken)
            return String(decoding: text[start..<position], as: UTF8.self)
        }

        private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
            while position < text.count, isSkipped(text[position]) { position += 1 }
        }

        private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    }
}

extension [HTTPChallenge] {
    /// The one to answer: Digest shows the password to nobody, so it comes before Basic.
    var preferred: (scheme: AuthenticationChallenge.Scheme, realm: String?)? {
        for scheme in [AuthenticationChallenge.Scheme.digest, .basic, .bearer] {
            if let challenge = first(where: { $0.scheme == scheme.rawValue }) { return (scheme, challenge.realm) }
        }
        return nil
    }
}
