import FoundationEssentials
import Glibc
import WebImageTestSupport

/// A file system of a few MiB in memory, unmounted when the last reference goes. It takes the right to mount.
final class SmallFileSystem {
    let path: String
    private let folder: TemporaryDirectory

    static let isAvailable = (try? SmallFileSystem(mebibytes: 1)) != nil

    init(mebibytes: Int) throws {
        folder = try TemporaryDirectory()
        path = folder.path("disk")
        guard mkdir(path, 0o700) == 0, mount("tmpfs", path, "tmpfs", 0, "size=\(mebibytes)m") == 0 else {
            throw POSIXError(.EPERM)
        }
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    private var ballastPath: String { path + "/ballast" }

    /// Takes the space that is left, to the last block.
    func fill() throws {
        let file = open(ballastPath, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer { close(file) }
        let block = [UInt8](repeating: 0xBA, count: 4_096)
        while write(file, block, block.count) == block.count {}
        guard errno == ENOSPC else { throw POSIXError(.EIO) }
    }

    /// Gives back what ``fill()`` took.
    func clear() { unlink(ballastPath) }

    /// As long as nobody has a file of it open for writing; not even root may write then.
    func makeReadOnly(_ isReadOnly: Bool = true) throws {
        let flags = UInt(MS_REMOUNT) | (isReadOnly ? UInt(MS_RDONLY) : 0)
        // A cache that has ended may close its last file a moment later, on a thread of its own.
        let deadline = ContinuousClock.now + .seconds(10)
        while mount("tmpfs", path, "tmpfs", flags, nil) != 0 {
            guard errno == EBUSY, ContinuousClock.now < deadline else { throw POSIXError(.EBUSY) }
            sched_yield()
        }
    }
}
