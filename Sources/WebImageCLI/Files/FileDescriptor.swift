internal import FoundationEssentials
internal import Glibc
internal import WebImage

/// An open file descriptor, which its owner closes.
struct FileDescriptor {
    private let number: Int32

    init(_ number: Int32) { self.number = number }

    /// Writes all of `data`; returns 0 or the system's error number. Blocks, even if another process that shares the
    /// terminal or pipe has made it nonblocking.
    @discardableResult
    func write(_ data: Data) -> Int32 {
        data.withUnsafeBytes { bytes in
            do throws(RegularFile.Failure) {
                try RegularFile.writeAll(bytes) { rest, _ in
                    while true {
                        let count = Glibc.write(number, rest.baseAddress, rest.count)
                        guard count < 0, errno == EAGAIN else { return count }
                        waitForRoom()
                    }
                }
                return 0
            } catch {
                return error.errno
            }
        }
    }

    /// Returns early after a signal or an error, which the next write encounters again.
    private func waitForRoom() {
        var request = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        poll(&request, 1, -1)
    }
}
