internal import FoundationEssentials
internal import Glibc
internal import WebImage

/// The system's number for an open file; closing it is the owner's business.
struct FileDescriptor {
    private let number: Int32

    init(_ number: Int32) { self.number = number }

    /// Writes all of `data`; 0, or the system's error number. Blocks, even when whoever shares the terminal or pipe has
    /// made it one that does not.
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

    /// Returns early at a signal or a failure, which the next write meets again.
    private func waitForRoom() {
        var request = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        poll(&request, 1, -1)
    }
}
