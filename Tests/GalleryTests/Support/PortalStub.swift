import CWebImageGTK
import Foundation
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK

/// A D-Bus daemon with a portal that sets wallpapers, for tests. Its methods are called by the main loop.
@MainActor final class PortalStub {
    let address: String
    /// The files that were set.
    private(set) var wallpapers: [Data] = []
    private(set) var options: [String] = []
    /// What the portal answers: 0 for a success, 1 if the user cancels.
    var response: UInt32 = 0
    /// When the portal stops instead of answering.
    var end: End?

    enum End: CaseIterable {
        /// The request has no object yet.
        case beforeReply
        case afterReply
    }

    private let daemon: BusDaemon
    private var connection: ObjectPointer?

    /// - Parameter hasWallpapers: whether the portal knows wallpapers; `nil` for a bus without a portal.
    init(hasWallpapers: Bool? = true) throws {
        daemon = try BusDaemon()
        address = daemon.address
        guard let hasWallpapers else { return }
        let flags = GDBusConnectionFlags(
            rawValue: G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
                | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue)
        var error: UnsafeMutablePointer<GError>?
        guard let connection = g_dbus_connection_new_for_address_sync(address, flags, nil, nil, &error) else {
            throw BusFailure(description: error.takeMessage())
        }
        self.connection = ObjectPointer(connection)
        if hasWallpapers { try register(on: ObjectPointer(connection)) }
        let reply = g_dbus_connection_call_sync(
            connection, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
            g_variant_parse(nil, "('org.freedesktop.portal.Desktop', uint32 0)", nil, nil, nil), nil,
            G_DBUS_CALL_FLAGS_NONE, -1, nil, &error)
        guard let reply else { throw BusFailure(description: error.takeMessage()) }
        g_variant_unref(reply)
    }

    func stop() {
        if let connection {
            g_dbus_connection_close_sync(connection.opaque, nil, nil)
            g_object_unref(connection.address)
        }
        daemon.stop()
    }

    private func register(on connection: ObjectPointer) throws {
        let description = """
            <node><interface name='org.freedesktop.portal.Wallpaper'><method name='SetWallpaperFile'>
            <arg type='s' direction='in'/><arg type='h' direction='in'/><arg type='a{sv}' direction='in'/>
            <arg type='o' direction='out'/></method></interface></node>
            """
        let node = try XCTUnwrap(g_dbus_node_info_new_for_xml(description, nil), "the interface")
        defer { g_dbus_node_info_unref(node) }
        var table = GDBusInterfaceVTable()
        table.method_call = { _, sender, _, _, _, parameters, invocation, data in
            nonisolated(unsafe) let (parameters, invocation, data) = (parameters, invocation, data)
            let name = sender.map { String(cString: $0) } ?? ""
            MainActor.assumeIsolated {
                guard let parameters, let invocation, let data else { return }
                Unmanaged<PortalStub>.fromOpaque(data).takeUnretainedValue().answer(name, parameters, invocation)
            }
        }
        var error: UnsafeMutablePointer<GError>?
        let number = g_dbus_connection_register_object(
            connection.opaque, "/org/freedesktop/portal/desktop", node.pointee.interfaces[0], &table,
            Unmanaged.passUnretained(self).toOpaque(), nil, &error)
        guard number != 0 else { throw BusFailure(description: error.takeMessage()) }
    }

    private func answer(_ sender: String, _ parameters: OpaquePointer, _ invocation: OpaquePointer) {
        let arguments = g_variant_get_child_value(parameters, 2)
        defer { g_variant_unref(arguments) }
        let token = g_variant_lookup_value(arguments, "handle_token", nil)
        defer { g_variant_unref(token) }
        let text = g_variant_print(arguments, 0)
        defer { g_free(text) }
        options.append(text.map { String(cString: $0) } ?? "")
        let files = g_dbus_message_get_unix_fd_list(g_dbus_method_invocation_get_message(invocation))
        let descriptor = g_unix_fd_list_get(files, 0, nil)
        wallpapers.append(FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).readDataToEndOfFile())
        let path =
            "/org/freedesktop/portal/desktop/request/\(sender.dropFirst().replacing(".", with: "_"))/"
            + String(cString: g_variant_get_string(token, nil))
        if end == .beforeReply {
            g_dbus_connection_close_sync(connection?.opaque, nil, nil)
            g_object_unref(UnsafeMutableRawPointer(invocation))
            return
        }
        g_dbus_method_invocation_return_value(
            invocation, g_variant_parse(nil, "(objectpath '\(path)',)", nil, nil, nil))
        if end == .afterReply {
            g_dbus_connection_flush_sync(connection?.opaque, nil, nil)
            g_dbus_connection_close_sync(connection?.opaque, nil, nil)
            return
        }
        g_dbus_connection_emit_signal(
            connection?.opaque, sender, path, "org.freedesktop.portal.Request", "Response",
            g_variant_parse(nil, "(uint32 \(response), @a{sv} {})", nil, nil, nil), nil)
    }
}

/// Why there is no stub, in words of GIO.
private struct BusFailure: Error, CustomStringConvertible {
    let description: String
}

/// A D-Bus daemon. It is not `GTestDBus`, which stands for the session bus of the whole process: it changes the environment, in which other
/// tests start programs, and its end waits half a minute for the connection to a session bus that there was before.
private struct BusDaemon {
    let address: String
    private let process = Process()

    init() throws {
        let program = "/usr/bin/dbus-daemon"
        guard access(program, X_OK) == 0 else { throw XCTSkip("needs dbus-daemon") }
        let output = Pipe()
        process.executableURL = URL(filePath: program)
        process.arguments = [
            "--config-file=\(ProgramRun.busConfiguration)", "--nofork", "--nopidfile", "--print-address=1",
        ]
        process.standardOutput = output
        // It says that it cannot raise the limit of files.
        process.standardError = FileHandle.nullDevice
        try process.run()
        address = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        guard !address.isEmpty else { throw BusFailure(description: "dbus-daemon prints no address") }
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
    }
}
