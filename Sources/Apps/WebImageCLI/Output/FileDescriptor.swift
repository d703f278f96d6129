internal import FoundationEssentials
internal import Glibc

/// An open file descriptor, which its owner closes.
struct FileDescriptor {
    private let number: Int32

    init(_ number: Int32) { self.number = number }

    /// Writes all of `data`; returns 0 or the system's error number. Blocks, even if another process that shares the
    /// terminal or pipe has made it nonblocking.
    @discardableResult
    func write(_ data: Data) -> Int32 {
        data.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(number, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                guard count <= 0 else {
                    rest.removeFirst(count)
                    continue
                }
                // A call that writes nothing does not set `errno`.
                switch count < 0 ? errno : EIO {
                case EINTR: continue
                case EAGAIN: waitUntilWritable()
                case let status: return status
                }
            }
            return 0
        }
    }

    /// Returns early after a signal or an error, which the next write encounters again.
    private func waitUntilWritable() {
        var request = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        poll(&request, 1, -1)
    }
}
