/// The limits of a server: every wait ends, and everything in memory has a size.
struct HTTPLimits: Sendable {
    /// Connections at a time. Beyond it, the one that has been reading a request for the longest is closed.
    var connectionCount = 512
    /// Requests that are handled at a time; others wait.
    var handlerCount = 64
    var headByteCount = 16 << 10
    var bodyByteCount = 64 << 10
    /// All responses that wait for their readers. Beyond it, the slowest readers lose their connections.
    var outputByteCount = 64 << 20

    /// From the first byte of a head, or the start of the connection, to its end.
    var headTime = Duration.seconds(10)
    var bodyTime = Duration.seconds(10)
    /// Between a response and the next request.
    var idleTime = Duration.seconds(30)
    /// From a request to its response.
    var responseTime = Duration.seconds(60)
    /// For sending a response, besides the time that its bytes take at the minimum rate.
    var sendTime = Duration.seconds(30)
    var bytesPerSecond = 64 << 10
    /// For the client's end of a connection, after the server's.
    var lingerTime = Duration.seconds(2)

    /// Returns the time for sending that many bytes.
    func sendTime(of byteCount: Int) -> Duration {
        sendTime + .milliseconds(byteCount * 1000 / max(1, bytesPerSecond))
    }
}
