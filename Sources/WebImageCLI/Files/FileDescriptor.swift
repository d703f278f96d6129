internal import FoundationEssentials
internal import Glibc

/// The system's number for an open file; closing it is the owner's business.
struct FileDescriptor {
    private let number: Int32

    init(_ number: Int32) { self.number = number }

    /// Writes all of `data`; 0, or the system's error number. Blocks.
    @discardableResult
    func write(_ data: Data) -> Int32 {
        data.withUnsafeBytes { bytes in
            var rest = bytes
            while !rest.isEmpty {
                let count = Glibc.write(number, rest.baseAddress, rest.count)
                if count >= 0 {
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                } else if errno != EINTR {
                    return errno
                }
            }
            return 0
        }
    }
}
