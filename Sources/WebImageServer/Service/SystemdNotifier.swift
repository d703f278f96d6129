internal import Glibc

/// Tells systemd about the state of the service.
struct SystemdNotifier {
    /// The path of its socket; `nil` without one.
    let path: String?

    init(_ environment: [String: String]) { path = environment["NOTIFY_SOCKET"] }

    /// - Parameter state: such as `READY=1`.
    func notify(_ state: String) {
        guard let path, !path.isEmpty else { return }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        // The name of an abstract socket begins with NUL.
        if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 2) + socklen_t(bytes.count)
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let text = Array(state.utf8)
        withUnsafeBytes(of: &address) { raw in
            guard let start = raw.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return }
            _ = sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL), start, length)
        }
    }
}
