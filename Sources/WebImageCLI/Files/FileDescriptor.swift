internal import FoundationEssentials
internal import Glibc

/// The system's number for an open file; closing it is the owner's business.
struct FileDescriptor {
    private let number: Int32

    init(_ number: Int32) { self.number = number }

    /// Writes all of `data`; 0, or the system's error number. Blocks, even when whoever shares the terminal or pipe has
    /// made it one that does not.
    @discardableResult
    func write(_ data: Data) -> Int32 {
        data.withUnsafeBytes { bytes in
            var rest = bytes
            while !rest.isEmpty {
                let count = Glibc.write(number, rest.baseAddress, rest.count)
                switch count < 0 ? errno : 0 {
                case 0: rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                case EINTR: continue
                case EAGAIN: waitForRoom()
                case let status: return status
                }
            }
            return 0
        }
    }

    /// Returns early at a signal or a failure, which the next write meets again.
    private func waitForRoom() {
        var request = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        poll(&request, 1, -1)
    }
}
