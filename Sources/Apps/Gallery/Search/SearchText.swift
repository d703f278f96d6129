import CWebImageGTK
import Glibc

/// A text as a search compares it: without case and accents, so that `ecole` finds `École`.
struct SearchText: Sendable, Hashable {
    private let bytes: [UInt8]

    init(_ text: String) {
        // The normal form has accents behind their letters.
        let scalars = Self.parts(of: text).unicodeScalars.filter { !(0x300...0x36F).contains($0.value) }
        bytes = Array(String(String.UnicodeScalarView(scalars)).utf8)
    }

    private static func parts(of text: String) -> String {
        guard let folded = g_utf8_casefold(text, -1) else { return text }
        defer { g_free(folded) }
        guard let parts = g_utf8_normalize(folded, -1, G_NORMALIZE_ALL) else { return text }
        defer { g_free(parts) }
        return String(cString: parts)
    }

    var isEmpty: Bool { bytes.isEmpty }

    func contains(_ part: SearchText) -> Bool {
        let (bytes, part) = (bytes, part.bytes)
        guard let first = part.first else { return true }
        guard bytes.count >= part.count else { return false }
        return bytes.withUnsafeBytes { bytes in
            part.withUnsafeBytes { part in
                (0...bytes.count - part.count).contains { start in
                    bytes[start] == first
                        && memcmp(
                            bytes.baseAddress.unsafelyUnwrapped + start, part.baseAddress.unsafelyUnwrapped, part.count)
                            == 0
                }
            }
        }
    }
}
