internal import Glibc

/// Text that something is found by, compared by its bytes.
///
/// `String` takes texts for equal that Unicode calls canonically equivalent, such as "é" in one and in two scalars.
/// Servers and disks do not.
package struct KeyText: Sendable, Hashable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (first: KeyText, second: KeyText) -> Bool { first.text.hasSameBytes(as: second.text) }

    /// Texts of the same bytes have the same hash, although others may have it too.
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension String {
    /// Whether both are the same UTF-8 bytes.
    package func hasSameBytes(as other: String) -> Bool {
        let isSame = utf8.withContiguousStorageIfAvailable { first in
            other.utf8.withContiguousStorageIfAvailable { second in
                guard first.count == second.count else { return false }
                guard let start = first.baseAddress, let otherStart = second.baseAddress else { return true }
                return memcmp(start, otherStart, first.count) == 0
            }
        }
        return isSame.flatMap { $0 } ?? utf8.elementsEqual(other.utf8)
    }
}
