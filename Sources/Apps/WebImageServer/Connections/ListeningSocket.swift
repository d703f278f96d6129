internal import FoundationEssentials
internal import Glibc

/// A socket on which clients connect.
enum ListeningSocket {
    /// Opens a socket.
    ///
    /// - Parameter place: `ADDRESS:PORT`, `:PORT` for all addresses, `[ADDRESS]:PORT` for IPv6, or `unix:PATH`.
    static func open(_ place: String) throws(StartFailure) -> Int32 {
        place.hasPrefix("unix:") ? try open(path: String(place.dropFirst(5))) : try openTCP(place)
    }

    /// The sockets that systemd has opened for this process.
    static func inherited(_ environment: [String: String]) -> [Int32] {
        guard environment["LISTEN_PID"] == "\(getpid())", let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }),
            count > 0
        else { return [] }
        return (3..<3 + count).map { descriptor in
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            return descriptor
        }
    }

    /// Returns where a socket listens, for the program's output.
    static func name(of socket: Int32) -> String {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &address) { bytes -> String in
            guard let start = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                getsockname(socket, start, &length) == 0
            else { return "?" }
            if Int32(start.pointee.sa_family) == AF_UNIX {
                return "unix:" + String(decoding: bytes[2..<Int(length)].prefix { $0 != 0 }, as: UTF8.self)
            }
            var (host, port) = ([CChar](repeating: 0, count: 64), [CChar](repeating: 0, count: 16))
            guard getnameinfo(start, length, &host, 64, &port, 16, NI_NUMERICHOST | NI_NUMERICSERV) == 0 else {
                return "?"
            }
            func text(_ characters: [CChar]) -> String {
                String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            }
            let name = text(host)
            return "http://" + (name.contains(":") ? "[\(name)]" : name) + ":" + text(port)
        }
    }

    private static func openTCP(_ place: String) throws(StartFailure) -> Int32 {
        guard let colon = place.lastIndex(of: ":") else { throw invalid(place) }
        var host = String(place[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        let port = String(place[place.index(after: colon)...])
        guard UInt16(port) != nil else { throw invalid(place) }
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host.isEmpty ? nil : host, port, &hints, &list) == 0, let first = list else {
            throw invalid(place)
        }
        defer { freeaddrinfo(first) }
        // All addresses of both families, where there are both.
        var best = first
        var next: UnsafeMutablePointer<addrinfo>? = first
        while host.isEmpty, let entry = next {
            if entry.pointee.ai_family == AF_INET6 { best = entry }
            next = entry.pointee.ai_next
        }
        let socket = try make(best.pointee.ai_family)
        var (on, off) = (Int32(1), Int32(0))
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, 4)
        if best.pointee.ai_family == AF_INET6 { setsockopt(socket, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &off, 4) }
        // Answers begin with a head of its own.
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, 4)
        guard bind(socket, best.pointee.ai_addr, best.pointee.ai_addrlen) == 0, listen(socket, backlog) == 0 else {
            throw failure(place, socket)
        }
        return socket
    }

    private static func open(path: String) throws(StartFailure) -> Int32 {
        guard let address = UnixAddress(path) else { throw invalid(path) }
        // Only a socket is replaced, which another run has left.
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK { unlink(path) }
        let socket = try make(AF_UNIX)
        guard address.withPointer({ bind(socket, $0, $1) }) == 0, listen(socket, backlog) == 0 else {
            throw failure(path, socket)
        }
        return socket
    }

    private static let backlog: Int32 = 512

    private static func make(_ family: Int32) throws(StartFailure) -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { throw StartFailure(description: "no socket: \(message)", status: 1) }
        return descriptor
    }

    private static func invalid(_ place: String) -> StartFailure {
        StartFailure(description: "'\(place)' is not ADDRESS:PORT or unix:PATH", status: 1)
    }

    private static func failure(_ place: String, _ socket: Int32) -> StartFailure {
        defer { close(socket) }
        return StartFailure(description: "cannot listen on \(place): \(message)", status: 1)
    }

    private static var message: String { String(cString: strerror(errno)) }
}
