internal import CWebImageCurl
internal import Glibc
package import WebImageCore

/// Judges an address before anything is sent to it.
package typealias AddressCheck = @Sendable (IPAddress) -> WebImageError.BlockCause?

extension CurlTransfer {
    /// Opens a socket for libcurl, or refuses to: this is where each address is known for certain, after every look-up.
    ///
    /// Programs started by this process do not inherit it: one that did would keep a connection open that we have closed.
    func openSocket(_ target: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        if let objection = objection(to: target) {
            block(objection)
            return curl_socket_t(CURL_SOCKET_BAD)
        }
        let (type, close) = (target.pointee.socktype, Int32(SOCK_CLOEXEC.rawValue))
        let descriptor = socket(target.pointee.family, type | close, target.pointee.protocol)
        sockets.add(descriptor)
        return descriptor
    }

    private func objection(to target: UnsafeMutablePointer<curl_sockaddr>) -> WebImageError.BlockCause? {
        guard let addressCheck else { return nil }
        // `addr` is declared as the smallest kind of address; the real one, longer, begins there.
        guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return .address("?") }
        let bytes = UnsafeRawBufferPointer(
            start: UnsafeRawPointer(target) + offset, count: Int(target.pointee.addrlen))
        guard let address = IPAddress(bytes) else { return .address("of family \(target.pointee.family)") }
        return addressCheck(address)
    }

    /// Judges the address of the connection that is about to carry the request, which may be one opened for another.
    func mayUseConnection(to address: UnsafePointer<CChar>?) -> Bool {
        guard let addressCheck else { return true }
        let text = address.map { String(cString: $0) } ?? ""
        guard let objection = IPAddress(text).map(addressCheck) ?? .address(text) else { return true }
        block(objection)
        return false
    }
}
