internal import Glibc

/// Text used as a key, compared by its bytes.
///
/// `String` treats canonically equivalent texts as equal, such as "é" as one scalar and as two. Servers and disks do
/// not.
package struct KeyText: Sendable, Hashable {
    package let text: String
    /// Computed once: a load looks its key up in several tables. Texts with the same bytes have the same hash; others may have it, too.
    package let hashValue: Int

    package init(_ text: String) { (self.text, hashValue) = (text, text.hashValue) }

    package static func == (first: KeyText, second: KeyText) -> Bool {
        first.hashValue == second.hashValue && first.text.hasSameBytes(as: second.text)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(hashValue) }
}

extension String {
    /// Whether both texts have the same UTF-8 bytes.
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
