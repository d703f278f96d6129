import CWebImageGTK
import Foundation
import XCTest

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

    private let daemon: ObjectPointer
    private let formerEnvironment: [(name: String, value: String?)]
    private var connection: ObjectPointer?

    /// - Parameter hasWallpapers: whether the portal knows wallpapers; `nil` for a bus without a portal.
    init(hasWallpapers: Bool? = true) throws {
        guard access("/usr/bin/dbus-daemon", X_OK) == 0 else { throw XCTSkip("needs dbus-daemon") }
        // GLib removes them from the environment, in which other tests start programs.
        formerEnvironment = ["DISPLAY", "DBUS_SESSION_BUS_ADDRESS"].map { name in
            (name, getenv(name).map { String(cString: $0) })
        }
        daemon = ObjectPointer(g_test_dbus_new(G_TEST_DBUS_NONE))
        g_test_dbus_up(daemon.opaque)
        address = String(cString: g_test_dbus_get_bus_address(daemon.opaque))
        guard let hasWallpapers else { return }
        let flags = GDBusConnectionFlags(
            rawValue: G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
                | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue)
        let connection = ObjectPointer(
            try XCTUnwrap(g_dbus_connection_new_for_address_sync(address, flags, nil, nil, nil)))
        self.connection = connection
        if hasWallpapers { try register(on: connection) }
        let reply = g_dbus_connection_call_sync(
            connection.opaque, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
            g_variant_parse(nil, "('org.freedesktop.portal.Desktop', uint32 0)", nil, nil, nil), nil,
            G_DBUS_CALL_FLAGS_NONE, -1, nil, nil)
        g_variant_unref(try XCTUnwrap(reply))
    }

    func stop() {
        if let connection {
            g_dbus_connection_close_sync(connection.opaque, nil, nil)
            g_object_unref(connection.address)
        }
        g_test_dbus_stop(daemon.opaque)
        g_object_unref(daemon.address)
        for (name, value) in formerEnvironment { if let value { setenv(name, value, 1) } else { unsetenv(name) } }
    }

    private func register(on connection: ObjectPointer) throws {
        let description = """
            <node><interface name='org.freedesktop.portal.Wallpaper'><method name='SetWallpaperFile'>
            <arg type='s' direction='in'/><arg type='h' direction='in'/><arg type='a{sv}' direction='in'/>
            <arg type='o' direction='out'/></method></interface></node>
            """
        let node = try XCTUnwrap(g_dbus_node_info_new_for_xml(description, nil))
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
        let number = g_dbus_connection_register_object(
            connection.opaque, "/org/freedesktop/portal/desktop", node.pointee.interfaces[0], &table,
            Unmanaged.passUnretained(self).toOpaque(), nil, nil)
        XCTAssertNotEqual(number, 0)
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
