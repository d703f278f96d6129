internal import CWebImageCurl
internal import Glibc
internal import WebImageCore

/// A socket of a connection.
final class CurlSocket {
    let descriptor: Int32
    /// The number of transfers that use the connection, including those about to end.
    var transferCount = 0
    /// Whether it carries several requests at once, as HTTP/2 does; `nil` before the first response. libcurl itself
    /// reads pending bytes on such a connection before it reuses it.
    var isMultiplexed: Bool?

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Whether it is open, without unread bytes.
    var isSilent: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)
    }

    /// The local port when it was last checked.
    var lastLocalPort: Int?

    /// `nil` before it is connected and after it is closed.
    var localPort: Int? { end(getsockname)?.port }

    /// Returns whether the other end has this address and port; `nil` for any.
    func leads(to address: IPAddress?, port: Int?) -> Bool {
        guard let end = end(getpeername) else { return false }
        return (address == nil || end.address == address) && (port == nil || end.port == port)
    }

    private typealias Name = (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32

    private func end(_ name: Name) -> (address: IPAddress?, port: Int)? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { name(descriptor, $0, &length) }
        }
        guard status == 0 else { return nil }
        return withUnsafeBytes(of: storage) { bytes in
            // The port has the same offset in both kinds of addresses.
            let offset = MemoryLayout<sockaddr_in>.offset(of: \.sin_port) ?? 2
            let port = Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: in_port_t.self)))
            return port == 0 ? nil : (IPAddress(bytes), port)
        }
    }
}

/// The sockets that libcurl has opened, to check a connection before it carries another request. Used on the network
/// thread only.
final class CurlSocketTable {
    private var sockets: [Int32: CurlSocket] = [:]

    func add(_ descriptor: Int32) {
        if descriptor >= 0 { sockets[descriptor] = CurlSocket(descriptor) }
    }

    /// Returns the socket of a connection, which libcurl identifies by its ends only. If several sockets have the same
    /// local port and cannot be told apart, as behind a proxy, returns all of them.
    func sockets(localPort: Int, remote address: IPAddress?, port: Int) -> [CurlSocket] {
        var found: [CurlSocket] = []
        var closed: [CurlSocket] = []
        for socket in sockets.values where socket.lastLocalPort == nil || socket.lastLocalPort == localPort {
            let current = socket.localPort
            if current == localPort { found.append(socket) }
            if current == nil, socket.lastLocalPort != nil { closed.append(socket) }
            socket.lastLocalPort = current
        }
        for socket in closed { sockets[socket.descriptor] = nil }
        guard found.count > 1 else { return found }
        for (address, port) in [(address, port), (address, nil)] as [(IPAddress?, Int?)] {
            let exact = found.filter { $0.leads(to: address, port: port) }
            if !exact.isEmpty { return exact }
        }
        return found
    }
}

/// Returns why connections to an address are forbidden; `nil` for an allowed one.
typealias AddressCheck = @Sendable (IPAddress) -> WebImageError.BlockReason?

extension CurlTransfer {
    /// Opens a socket for libcurl, or refuses to. Here each address is certain, after all lookups.
    ///
    /// Programs started by this process do not inherit the socket: they would keep closed connections open.
    func openSocket(_ target: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        if let reason = blockReason(for: target) {
            block(reason)
            return curl_socket_t(CURL_SOCKET_BAD)
        }
        let (type, close) = (target.pointee.socktype, Int32(SOCK_CLOEXEC.rawValue))
        let descriptor = socket(target.pointee.family, type | close, target.pointee.protocol)
        sockets.add(descriptor)
        return descriptor
    }

    private func blockReason(for target: UnsafeMutablePointer<curl_sockaddr>) -> WebImageError.BlockReason? {
        guard let addressCheck else { return nil }
        // `addr` is declared as the smallest kind of address; the actual one may be longer.
        guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return .host("?") }
        let bytes = UnsafeRawBufferPointer(
            start: UnsafeRawPointer(target) + offset, count: Int(target.pointee.addrlen))
        guard let address = IPAddress(bytes) else { return .host("of family \(target.pointee.family)") }
        return addressCheck(address)
    }

    /// Checks the address of the connection for the request, which may have been opened for another request.
    func mayUseConnection(to address: UnsafePointer<CChar>?) -> Bool {
        guard let addressCheck else { return true }
        let text = address.map { String(cString: $0) } ?? ""
        guard let reason = IPAddress(text).map(addressCheck) ?? .host(text) else { return true }
        block(reason)
        return false
    }
}
