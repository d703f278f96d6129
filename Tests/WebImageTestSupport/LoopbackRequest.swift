import Glibc
import WebImageCore

/// A plain HTTP GET to 127.0.0.1 that has nothing to do with the code under test.
public enum LoopbackRequest {
    /// The answer's status and body; waits for at most `seconds`.
    public static func get(
        _ target: String, port: Int, atMost seconds: Int = 30
    ) async throws -> (status: Int, body: [UInt8]) {
        try await withCheckedThrowingContinuation { continuation in
            let isStarted = PlatformThread.start(name: "test-request") {
                continuation.resume(with: Result { try getBlocking(target, port: port, atMost: seconds) })
            }
            if !isStarted { continuation.resume(throwing: TestServerError("no thread for a request")) }
        }
    }

    /// As ``get(_:port:atMost:)``, on the calling thread.
    static func getBlocking(_ target: String, port: Int, atMost seconds: Int) throws -> (status: Int, body: [UInt8]) {
        let socket = Glibc.socket(AF_INET, streamSocket, 0)
        guard socket >= 0 else { throw TestServerError("no socket: errno \(errno)") }
        defer { close(socket) }
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = loopbackAddress(port: port)
        let isConnected = withUnsafeBytes(of: &address) { bytes in
            guard let start = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
            return connect(socket, start, socklen_t(bytes.count)) == 0
        }
        guard isConnected else { throw TestServerError("port \(port) refuses: errno \(errno)") }

        let request = Array("GET \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".utf8)
        guard send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw TestServerError("port \(port) takes no request: errno \(errno)")
        }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !isComplete(answer) {
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count >= 0 else { throw TestServerError("no answer to \(target): errno \(errno)") }
            if count == 0 { break }
            answer += buffer[..<count]
        }
        return try parse(answer, target: target)
    }

    /// A port of 127.0.0.1 on which nothing listens at the moment.
    public static func unusedPort() throws -> Int {
        let socket = Glibc.socket(AF_INET, streamSocket, 0)
        guard socket >= 0 else { throw TestServerError("no socket: errno \(errno)") }
        defer { close(socket) }
        var address = loopbackAddress(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutableBytes(of: &address) { bytes -> Int32 in
            guard let start = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return -1 }
            return bind(socket, start, length) == 0 ? getsockname(socket, start, &length) : -1
        }
        guard status == 0 else { throw TestServerError("no port: errno \(errno)") }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    private static var streamSocket: Int32 { Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) }

    private static func loopbackAddress(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    /// Whether the announced length is there; the fault server keeps its connections open.
    private static func isComplete(_ answer: [UInt8]) -> Bool {
        guard let (head, body) = split(answer) else { return false }
        let lengths = head.split(separator: "\r\n").compactMap { line -> Int? in
            let parts = line.split(separator: ":")
            guard parts.count == 2, parts[0].lowercased() == "content-length" else { return nil }
            return Int(parts[1].drop { $0 == " " })
        }
        return lengths.first.map { body.count >= $0 } ?? false
    }

    private static func parse(_ answer: [UInt8], target: String) throws -> (status: Int, body: [UInt8]) {
        guard let (head, body) = split(answer),
            let status = head.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { throw TestServerError("no HTTP answer to \(target)") }
        return (status, Array(body))
    }

    private static func split(_ answer: [UInt8]) -> (head: String, body: ArraySlice<UInt8>)? {
        let end = Array("\r\n\r\n".utf8)
        guard answer.count >= end.count else { return nil }
        for start in 0...(answer.count - end.count) where answer[start..<(start + end.count)].elementsEqual(end) {
            return (String(decoding: answer[..<start], as: UTF8.self), answer[(start + end.count)...])
        }
        return nil
    }
}

/// A port of 127.0.0.1 that refuses connections.
public func refusedPort() throws -> Int { try LoopbackRequest.unusedPort() }
