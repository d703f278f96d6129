import Foundation
import Glibc
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageServer

/// A client that sends and reads bytes as it likes.
final class RawClient: Sendable {
    let descriptor: Int32

    /// - Parameter place: as `ListeningSocket.name(of:)` returns it.
    init(_ place: String) throws {
        if place.hasPrefix("unix:") {
            descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            let address = UnixAddress(String(place.dropFirst(5)))
            try check(address?.withPointer { connect(descriptor, $0, $1) } == 0)
        } else {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(UInt16(place.split(separator: ":").last ?? "") ?? 0).bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let isConnected = withUnsafeBytes(of: &address) { bytes in
                guard let start = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
                return connect(descriptor, start, socklen_t(bytes.count)) == 0
            }
            try check(isConnected)
        }
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    private func check(_ isConnected: Bool) throws {
        guard isConnected else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    deinit { _ = Glibc.close(descriptor) }

    @discardableResult
    func send(_ text: String) -> Bool { send(Data(text.utf8)) }

    @discardableResult
    func send(_ data: Data) -> Bool {
        let bytes = Array(data)
        return Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    /// Ends this side.
    func shut() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Reads until the server closes the connection, or `isEnough`. It is an issue if nothing comes for 20 s. Does not block a cooperative
    /// thread, and ends when the task is cancelled, such as at the time limit of a test.
    func read(until isEnough: (@Sendable (String) -> Bool)? = nil) async -> String {
        let (text, isSilent) = await withTaskCancellationHandler {
            await reading(until: isEnough)
        } onCancel: {
            shut()
        }
        if isSilent { Issue.record("The server neither sends nor closes the connection.") }
        return text
    }

    private func reading(until isEnough: (@Sendable (String) -> Bool)?) async -> (text: String, isSilent: Bool) {
        await withCheckedContinuation { continuation in
            let isStarted = PlatformThread.start(name: "test-client") { [self] in
                var (all, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
                var isSilent = false
                // A long text without a condition is decoded once, at its end.
                while isEnough?(String(decoding: all, as: UTF8.self)) != true {
                    let count = recv(descriptor, &buffer, buffer.count, 0)
                    isSilent = count < 0 && errno == EAGAIN
                    guard count > 0 else { break }
                    all += buffer[..<count]
                }
                continuation.resume(returning: (String(decoding: all, as: UTF8.self), isSilent))
            }
            if !isStarted { continuation.resume(returning: ("no thread", false)) }
        }
    }

    /// The status of the first answer, and whether the connection was closed after it.
    func status() async -> Int {
        let text = await read { $0.contains("\r\n\r\n") }
        return Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0
    }
}
