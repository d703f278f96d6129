internal import WebImageCore

/// A cache's key, compared by its bytes where it is text, as the disk compares it.
@usableFromInline
struct ExactKey<Key: Hashable>: Hashable {
    @usableFromInline let key: Key

    @inlinable
    init(_ key: Key) { self.key = key }

    @inlinable
    static func == (first: ExactKey, second: ExactKey) -> Bool { isSame(first.key, second.key) }

    @inlinable
    func hash(into hasher: inout Hasher) { hasher.combine(key) }

    /// The test of the type is made when the code is specialised, so that other keys don't pay for it.
    @inlinable
    @inline(__always)
    static func isSame(_ first: Key, _ second: Key) -> Bool {
        guard Key.self == String.self else { return first == second }
        return haveSameBytes(unsafeBitCast(first, to: String.self), unsafeBitCast(second, to: String.self))
    }
}

@usableFromInline
func haveSameBytes(_ first: String, _ second: String) -> Bool { first.hasSameBytes(as: second) }
