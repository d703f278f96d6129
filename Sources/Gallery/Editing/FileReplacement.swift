import FoundationEssentials
import Glibc

/// Replaces the content of a file in one step: programs read the former or the new content as a whole.
///
/// A file that is reached through a link stays where it is. Its owner and permissions stay, too.
struct FileReplacement: Sendable {
    /// The file, without links.
    let path: String
    private let status: stat

    /// `nil` with an error number if the file cannot be read.
    init?(of file: URL) {
        guard let resolved = realpath(file.path(percentEncoded: false), nil) else { return nil }
        defer { free(resolved) }
        var status = stat()
        guard stat(resolved, &status) == 0 else { return nil }
        (path, self.status) = (String(cString: resolved), status)
    }

    /// Whether nothing has changed the file since this value was made.
    var isCurrent: Bool {
        var now = stat()
        return stat(path, &now) == 0 && now.st_ino == status.st_ino && now.st_size == status.st_size
            && now.st_mtim.tv_sec == status.st_mtim.tv_sec && now.st_mtim.tv_nsec == status.st_mtim.tv_nsec
    }

    /// Writes the new content. Returns the error number; `nil` on success. Blocks the thread.
    func write(_ data: Data) -> Int32? {
        let name = path.split(separator: "/").last ?? ""
        let draft = String(path.dropLast(name.count)) + ".\(name.prefix(100)).\(UInt32.random(in: .min ... .max))"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return errno }
        if let failure = fill(descriptor, with: data) {
            close(descriptor)
            unlink(draft)
            return failure
        }
        // Some file systems say only now that they are full.
        guard close(descriptor) == 0, rename(draft, path) == 0 else {
            let failure = errno
            unlink(draft)
            return failure
        }
        return nil
    }

    private func fill(_ descriptor: Int32, with data: Data) -> Int32? {
        // Only the owner may give a file away; without the right, it belongs to the user who changes it.
        _ = fchown(descriptor, status.st_uid, status.st_gid)
        guard fchmod(descriptor, status.st_mode & 0o7777) == 0 else { return errno }
        let failure = data.withUnsafeBytes { bytes -> Int32? in
            var offset = 0
            while offset < bytes.count {
                let rest = bytes[offset...]
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                guard count > 0 || errno == EINTR else { return errno }
                offset += max(0, count)
            }
            return nil
        }
        return failure ?? (fsync(descriptor) == 0 ? nil : errno)
    }
}
