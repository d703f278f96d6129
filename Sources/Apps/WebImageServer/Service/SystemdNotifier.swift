internal import Glibc

/// Tells systemd about the state of the service.
struct SystemdNotifier {
    /// The path of its socket; `nil` without one.
    let path: String?

    init(_ environment: [String: String]) { path = environment["NOTIFY_SOCKET"] }

    /// - Parameter state: such as `READY=1`.
    func notify(_ state: String) {
        guard let path, let address = UnixAddress(path.hasPrefix("@") ? "\0" + path.dropFirst() : path) else { return }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let text = Array(state.utf8)
        _ = address.withPointer { sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL), $0, $1) }
    }
}
