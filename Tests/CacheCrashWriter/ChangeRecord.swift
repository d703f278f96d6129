/// What a writer process says about one of its changes: first that it is about to make it, then that it is on disk.
///
/// A process that is killed leaves whole records only, since the pipe takes 16 bytes at once or not at all.
package struct ChangeRecord: Sendable {
    package enum Change: UInt8, Sendable { case store, remove, trim, removeAll }

    package static let byteCount = 16

    package let change: Change
    package let isDone: Bool
    /// The key's number; 0 for changes of all keys.
    package let key: Int
    /// Grows from change to change.
    package let version: UInt64

    package init(_ change: Change, key: Int = 0, version: UInt64, isDone: Bool = false) {
        self.change = change
        self.isDone = isDone
        self.key = key
        self.version = version
    }

    package var done: ChangeRecord { ChangeRecord(change, key: key, version: version, isDone: true) }

    package var bytes: [UInt8] {
        withUnsafeBytes(of: version) { Array($0) }
            + withUnsafeBytes(of: UInt32(key)) { Array($0) } + [change.rawValue, isDone ? 1 : 0, 0, 0]
    }

    package init?(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.count == Self.byteCount, let change = Change(rawValue: bytes[12]) else { return nil }
        let (version, key) = bytes.withUnsafeBytes { bytes in
            (bytes.load(as: UInt64.self), bytes.load(fromByteOffset: 8, as: UInt32.self))
        }
        self.init(change, key: Int(key), version: version, isDone: bytes[13] != 0)
    }
}

/// The keys that writer processes use.
package enum WriterKeys {
    package static let count = 60
    /// Those from here on belong to one writer alone.
    package static let firstOwn = 40

    package static func name(_ number: Int, owner: String) -> String {
        number < firstOwn ? "key \(number)" : "\(owner)'s key \(number)"
    }
}
