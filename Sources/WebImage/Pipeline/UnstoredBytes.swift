import Synchronization

/// Bytes that have arrived and are being decoded. No cache has them yet, because images are stored once they have been
/// decoded, and their bytes job has ended: a request for another size of the image would load them again.
///
/// The table does not keep the bytes. An entry ends when they are stored, or with the last load that decodes them.
final class UnstoredBytes: Sendable {
    private struct Entry {
        weak var bytes: LoadedBytes?
        /// Identifies the bytes without retaining them: their last release under the lock would take it again.
        let id: ObjectIdentifier
    }
    private let entries = Mutex<[BytesJobKey: Entry]>([:])

    subscript(key: BytesJobKey) -> LoadedBytes? { entries.withLock { $0[key]?.bytes } }

    func insert(_ bytes: LoadedBytes, for key: BytesJobKey) {
        entries.withLock { $0[key] = Entry(bytes: bytes, id: ObjectIdentifier(bytes)) }
    }

    /// Removes the entry of some bytes, unless others have taken it.
    func remove(_ id: ObjectIdentifier, for key: BytesJobKey) {
        entries.withLock { if $0[key]?.id == id { $0[key] = nil } }
    }

    var count: Int { entries.withLock(\.count) }
}
