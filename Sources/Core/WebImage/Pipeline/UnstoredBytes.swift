import WebImageCore

/// Bytes that have arrived and are being decoded. No cache has them yet, because images are stored once they have been
/// decoded, and their bytes job has ended: a request for another size of the image would load them again.
///
/// The table does not keep the bytes. An entry ends when they are stored, when they turn out to be damaged, or with the
/// last load that decodes them.
final class UnstoredBytes: Sendable {
    private struct Entry { weak var bytes: LoadedBytes? }
    private let entries = Lock<[BytesJobKey: Entry]>([:])

    subscript(key: BytesJobKey) -> LoadedBytes? { entries.withLock { $0[key]?.bytes } }

    func insert(_ bytes: LoadedBytes, for key: BytesJobKey) { entries.withLock { $0[key] = Entry(bytes: bytes) } }

    /// Removes the entry of some bytes, and of released ones.
    func remove(_ bytes: LoadedBytes?, for key: BytesJobKey) {
        let current = entries.withLock { entries in
            let current = entries[key]?.bytes
            if current == nil || current === bytes { entries[key] = nil }
            return current
        }
        // If this is their last release, it takes the lock again.
        withExtendedLifetime(current) {}
    }

    var count: Int { entries.withLock { $0.count } }
}
