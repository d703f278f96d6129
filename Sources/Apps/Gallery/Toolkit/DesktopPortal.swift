import CWebImageGTK
import Dispatch
import Glibc
import GTKObjects
import ProgramSupport
import WebImageGTK

/// The desktop's portal (xdg-desktop-portal): what a program asks of the desktop through D-Bus, and the user agrees to.
///
///     call(…) ─► bus ─► portal ─► the desktop's dialog
///        ◄────── Request.Response ──────┘
struct DesktopPortal: Sendable {
    /// Why the desktop has not done what was asked, for users.
    enum Failure: Error, Equatable, CustomStringConvertible {
        case noPortal(String)
        case unsupported
        case cancelled
        case failed(String)

        static var stopped: Failure { .noPortal(localized("it has stopped")) }

        var description: String {
            switch self {
            case .noPortal(let reason): localized("No desktop portal answers ({reason})", ["reason": reason])
            case .unsupported: localized("This desktop's portal does not support it")
            case .cancelled: localized("Cancelled")
            case .failed(let reason): reason
            }
        }
    }

    /// The bus; `nil` for that of the user's session.
    var busAddress: String?

    private static let name = "org.freedesktop.portal.Desktop"
    private static let path = "/org/freedesktop/portal/desktop"

    /// Shows an image file as the desktop's background, after a preview in which the user agrees.
    func setWallpaper(_ file: SystemString) async throws(Failure) {
        try await call("org.freedesktop.portal.Wallpaper", "SetWallpaperFile", file) { token in
            // No parent window, the file's handle, options.
            "('', handle 0, {'handle_token': <'\(token)'>, 'show-preview': <true>, 'set-on': <'background'>})"
        }
    }

    // MARK: Calls

    /// Calls a method with a file, and returns when the user has answered.
    ///
    /// - Parameter arguments: returns them as GVariant's text, for the token of the request.
    private func call(
        _ interface: String, _ method: String, _ file: SystemString, _ arguments: @escaping @Sendable (String) -> String
    ) async throws(Failure) {
        let result: Result<Void, Failure> = await withCheckedContinuation { continuation in
            DispatchQueue.files.async { [busAddress] in
                let answer = Answer(continuation)
                do throws(Failure) {
                    try Self.send(interface, method, file, arguments, busAddress, answer)
                } catch { answer.end(.failure(error)) }
            }
        }
        try result.get()
    }

    /// Sends the message, and has `answer` get the response. Blocks the thread.
    private static func send(
        _ interface: String, _ method: String, _ file: SystemString, _ arguments: (String) -> String,
        _ address: String?,
        _ answer: Answer
    ) throws(Failure) {
        let connection = try connect(address)
        // The answer, which owns the other reference, may end during the call.
        g_object_ref(connection.address)
        defer { g_object_unref(connection.address) }
        let token = "gallery\(UInt32.random(in: .min ... .max))"
        try answer.subscribe(connection, token)
        let descriptor = file.withCString { open($0, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw .failed(String(cString: strerror(errno))) }
        defer { close(descriptor) }
        let files = g_unix_fd_list_new()
        defer { g_object_unref(files) }
        var error: UnsafeMutablePointer<GError>?
        guard g_unix_fd_list_append(files, descriptor, &error) >= 0 else { throw .failed(text(of: error)) }
        let parameters = g_variant_parse(nil, arguments(token), nil, nil, nil)
        let reply = g_dbus_connection_call_with_unix_fd_list_sync(
            connection.opaque, name, path, interface, method, parameters, nil, G_DBUS_CALL_FLAGS_NONE, -1, files, nil,
            nil, &error)
        guard let reply else { throw failure(of: error) }
        g_variant_unref(reply)
    }

    private static func connect(_ address: String?) throws(Failure) -> ObjectPointer {
        var error: UnsafeMutablePointer<GError>?
        let flags = GDBusConnectionFlags(
            rawValue: G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
                | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue)
        let connection =
            if let address {
                g_dbus_connection_new_for_address_sync(address, flags, nil, nil, &error)
            } else {
                g_bus_get_sync(G_BUS_TYPE_SESSION, nil, &error)
            }
        guard let connection else { throw .noPortal(text(of: error)) }
        return ObjectPointer(connection)
    }

    private static func failure(of error: UnsafeMutablePointer<GError>?) -> Failure {
        func isError(_ code: GDBusError) -> Bool {
            g_error_matches(error, g_dbus_error_quark(), gint(code.rawValue)) != 0
        }
        let isUnknown = [G_DBUS_ERROR_UNKNOWN_METHOD, G_DBUS_ERROR_UNKNOWN_INTERFACE, G_DBUS_ERROR_UNKNOWN_OBJECT]
            .contains(where: isError)
        let isAbsent = [G_DBUS_ERROR_SERVICE_UNKNOWN, G_DBUS_ERROR_NAME_HAS_NO_OWNER].contains(where: isError)
        // The bus answers for a portal that ends during the call.
        let hasStopped = isError(G_DBUS_ERROR_NO_REPLY)
        let reason = text(of: error)
        return isUnknown ? .unsupported : isAbsent ? .noPortal(reason) : hasStopped ? .stopped : .failed(reason)
    }

    private static func text(of error: UnsafeMutablePointer<GError>?) -> String {
        if let error { g_dbus_error_strip_remote_error(error) }
        return error.takeMessage()
    }

    // MARK: Response

    /// The end of a request: its response, or what is wrong before.
    private final class Answer: Sendable {
        // `@unchecked`: any thread may use a connection.
        private struct State: @unchecked Sendable {
            var continuation: CheckedContinuation<Result<Void, Failure>, Never>?
            var connection: ObjectPointer?
            var subscriptions: [guint] = []
        }

        private let state: LockedBox<State>

        init(_ continuation: CheckedContinuation<Result<Void, Failure>, Never>) {
            state = LockedBox(State(continuation: continuation))
        }

        /// Listens for the response, and for the portal's end, before the portal knows the request. Takes over the connection's reference.
        func subscribe(_ connection: ObjectPointer, _ token: String) throws(Failure) {
            guard let name = g_dbus_connection_get_unique_name(connection.opaque) else {
                g_object_unref(connection.address)
                throw .noPortal(localized("the bus gives no name"))
            }
            let sender = String(cString: name).drop { $0 == ":" }.replacing(".", with: "_")
            // The subscriptions own the answer until they end.
            let response = g_dbus_connection_signal_subscribe(
                connection.opaque, DesktopPortal.name, "org.freedesktop.portal.Request", "Response",
                "\(DesktopPortal.path)/request/\(sender)/\(token)", nil, G_DBUS_SIGNAL_FLAGS_NONE,
                { _, _, _, _, _, parameters, data in
                    guard let parameters, let data else { return }
                    let answer = Unmanaged<Answer>.fromOpaque(data).takeUnretainedValue()
                    let code = g_variant_get_child_value(parameters, 0)
                    defer { g_variant_unref(code) }
                    switch g_variant_get_uint32(code) {
                    case 0: answer.end(.success(()))
                    case 1: answer.end(.failure(.cancelled))
                    default: answer.end(.failure(.failed(localized("The desktop has not done it"))))
                    }
                }, Unmanaged.passRetained(self).toOpaque(),
                { data in if let data { Unmanaged<Answer>.fromOpaque(data).release() } })
            // A portal that stops, or is started anew, has forgotten the request.
            let end = g_dbus_connection_signal_subscribe(
                connection.opaque, "org.freedesktop.DBus", "org.freedesktop.DBus", "NameOwnerChanged",
                "/org/freedesktop/DBus", DesktopPortal.name, G_DBUS_SIGNAL_FLAGS_NONE,
                { _, _, _, _, _, parameters, data in
                    guard let parameters, let data else { return }
                    let former = g_variant_get_child_value(parameters, 1)
                    defer { g_variant_unref(former) }
                    // The first message starts a portal that was not running.
                    guard let name = g_variant_get_string(former, nil), name.pointee != 0 else { return }
                    let answer = Unmanaged<Answer>.fromOpaque(data).takeUnretainedValue()
                    answer.end(.failure(.stopped))
                }, Unmanaged.passRetained(self).toOpaque(),
                { data in if let data { Unmanaged<Answer>.fromOpaque(data).release() } })
            state.withLock { ($0.connection, $0.subscriptions) = (connection, [response, end]) }
        }

        /// Only the first end counts.
        func end(_ result: Result<Void, Failure>) {
            let former = state.withLock { state in
                defer { state = State() }
                return state
            }
            former.continuation?.resume(returning: result)
            guard let connection = former.connection else { return }
            for subscription in former.subscriptions {
                g_dbus_connection_signal_unsubscribe(connection.opaque, subscription)
            }
            g_object_unref(connection.address)
        }
    }
}
