internal import CWebImageGTK
internal import FoundationEssentials

extension Data {
    /// New `GBytes` with a copy of the data.
    func newBytes() -> OpaquePointer { withUnsafeBytes { g_bytes_new($0.baseAddress, gsize($0.count)) } }
}
