internal import CWebImageGTK
public import FoundationEssentials

extension Data {
    /// The bytes of a `GBytes`, which they retain, without a copy.
    public init(sharing bytes: OpaquePointer) {
        let count = Int(g_bytes_get_size(bytes))
        guard count > 0, let address = g_bytes_get_data(bytes, nil) else {
            self.init()
            return
        }
        nonisolated(unsafe) let owner = g_bytes_ref(bytes)  // `GBytes` does not change, and counts atomically.
        self.init(
            bytesNoCopy: UnsafeMutableRawPointer(mutating: address), count: count,
            deallocator: .custom { _, _ in g_bytes_unref(owner) })
    }
}
