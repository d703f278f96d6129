internal import CWebImageIsolation
internal import Glibc

/// Ends the wait of a thread in `poll`, from any other thread.
final class Interruption: Sendable {
    /// Can be read after ``signal()``, until ``clear()``.
    let descriptor: Int32
    private let writing: Int32
    // The program may close all descriptors, so that other files have the numbers.
    private let inodes: (reading: UInt64, writing: UInt64)

    /// `nil` without descriptors.
    init?() {
        var ends: (Int32, Int32) = (-1, -1)
        let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let status = withUnsafeMutablePointer(to: &ends) {
            $0.withMemoryRebound(to: Int32.self, capacity: 2) { socketpair(AF_UNIX, Int32(type), 0, $0) }
        }
        guard status == 0 else { return nil }
        (descriptor, writing) = ends
        inodes = (cwi_inode(descriptor), cwi_inode(writing))
    }

    deinit {
        cwi_close_same(descriptor, inodes.reading)
        cwi_close_same(writing, inodes.writing)
    }

    func signal() {
        guard cwi_inode(writing) == inodes.writing else { return }
        // If it is full, it was signalled before.
        _ = send(writing, "!", 1, Int32(MSG_NOSIGNAL))
    }

    func clear() {
        guard cwi_inode(descriptor) == inodes.reading else { return }
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            while recv(descriptor, buffer.baseAddress, buffer.count, 0) == buffer.count {}
        }
    }
}
