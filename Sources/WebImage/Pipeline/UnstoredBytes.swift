import Synchronization

/// Bytes that have arrived and are being decoded. No cache has them yet, because images are stored once they have been
/// decoded, and their bytes job has ended: a request for another size of the image would load them again.
///
/// The table does not keep the bytes. An entry ends when they are stored, or with the last load that decodes them.
final class UnstoredBytes: Sendable {
    private struct Entry { weak var bytes: LoadedBytes? }
    private let entries = Mutex<[BytesJobKey: Entry]>([:])

    subscript(key: BytesJobKey) -> LoadedBytes? { entries.withLock { $0[key]?.bytes } }

    func insert(_ bytes: LoadedBytes, for key: BytesJobKey) { entries.withLock { $0[key] = Entry(bytes: bytes) } }

    /// Removes the entry of these bytes.
    func remove(_ bytes: LoadedBytes, for key: BytesJobKey) {
        entries.withLock { if $0[key]?.bytes === bytes { $0[key] = nil } }
    }

    /// Removes the entry of released bytes, unless others have taken it.
    func removeReleased(_ key: BytesJobKey) { entries.withLock { if $0[key]?.bytes == nil { $0[key] = nil } } }

    var count: Int { entries.withLock(\.count) }
}
