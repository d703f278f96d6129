internal import CWebImageCurl
internal import WebImageCore

extension CurlTransfer {
    /// Whether what comes on the connection from here on can only be the answer to this request.
    ///
    /// Bytes that a server sends on a connection that waits for a request would be taken for the answer to the next one, and
    /// cached as it. libcurl 7.88 does not see them; 8.14 sees them on the socket, but not what is already decrypted. A
    /// connection that has some, or is closed, is not used: the request goes over a new one. The tickets of TLS 1.3 servers
    /// are none of them: they come before the first answer and are read with it.
    func isConnectionClean(to address: UnsafePointer<CChar>?, ports: (remote: Int, local: Int)) -> Bool {
        let found = sockets.sockets(
            localPort: ports.local, remote: address.flatMap { IPAddress(String(cString: $0)) }, port: ports.remote)
        // A server may take another request of this transfer, such as the one with the credential, on the same connection.
        let isOld = handle.info(CURLINFO_NUM_CONNECTS) == 0 || found.contains { $0 === connection }
        leaveConnection()
        let isClean = !isOld || found.allSatisfy(isClean)
        if isClean, let socket = found.first {
            socket.transferCount += 1
            connection = socket
        }
        if !isClean, !request.usesNewConnection {
            var repetition = request
            repetition.usesNewConnection = true
            self.repetition = repetition
        }
        return isClean
    }

    private func isClean(_ socket: CurlSocket) -> Bool {
        // Before the first answer only a connection for several requests can carry a second one.
        if socket.isMultiplexed ?? (socket.transferCount > 0) { return true }
        return cwi_curl_tls_pending(handle.easy) <= 0 && socket.isSilent
    }

    /// Notes, with a head there, what kind of connection it has come over.
    func noteFraming() {
        if let connection, connection.isMultiplexed == nil { connection.isMultiplexed = hasFramedAnswer }
    }

    /// Notes that it no longer uses its connection.
    func leaveConnection() {
        guard let socket = connection else { return }
        connection = nil
        socket.transferCount -= 1
    }

    /// Whether its answer has come over HTTP/2 or HTTP/3.
    var hasFramedAnswer: Bool {
        let version = handle.info(CURLINFO_HTTP_VERSION)
        return version == Int(CURL_HTTP_VERSION_2_0) || version == Int(CURL_HTTP_VERSION_3)
    }
}
