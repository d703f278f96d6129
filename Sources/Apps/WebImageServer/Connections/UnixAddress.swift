internal import Glibc

/// The address of a Unix socket.
struct UnixAddress {
    private var address = sockaddr_un()
    private let length: socklen_t

    /// `nil` for an empty path, and for one that is too long. The name of an abstract socket begins with NUL.
    init?(_ path: String) {
        address.sun_family = sa_family_t(AF_UNIX)
        guard !path.isEmpty, path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        length = socklen_t((MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 2) + path.utf8.count)
    }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}
