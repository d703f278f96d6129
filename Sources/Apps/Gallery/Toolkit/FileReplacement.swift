import CGallery
import FoundationEssentials
import Glibc
import ProgramSupport
import WebImageGTK

/// Replaces the content of a file in one step: programs read the former or the new content as a whole.
///
/// A file that is reached through a link stays where it is. Its owner, permissions and extended attributes, which access control lists are
/// among, stay, too. Where one of them cannot stay, the file is not replaced.
struct FileReplacement: Sendable {
    /// Why a file is not replaced, for users.
    enum Failure: Error, Equatable, CustomStringConvertible {
        case changed
        case hasOtherNames
        case ownerWouldChange
        case system(Int32)

        var description: String {
            switch self {
            case .changed: localized("Another program is changing the file.")
            case .hasOtherNames: localized("The file has other names (hard links), which would keep the former image.")
            case .ownerWouldChange: localized("The file belongs to another user or group.")
            case .system(let number): String(cString: strerror(number))
            }
        }
    }

    /// The file, without links.
    let path: SystemString
    private let status: stat

    init(of file: URL) throws(Failure) {
        guard let resolved = file.filePath.withCString({ realpath($0, nil) }) else { throw .system(errno) }
        defer { free(resolved) }
        var status = stat()
        guard stat(resolved, &status) == 0 else { throw .system(errno) }
        (path, self.status) = (SystemString(cString: resolved), status)
    }

    /// The state of the file when this value was made.
    var stamp: FileStamp { FileStamp(status) }

    /// Whether nothing has changed the file since this value was made.
    var isCurrent: Bool { FileStamp(path: path) == stamp }

    /// Writes the new content, unless the file has changed. Blocks the thread.
    func write(_ data: Data) throws(Failure) {
        guard isCurrent else { throw .changed }
        guard status.st_nlink == 1 else { throw .hasOtherNames }
        // Renaming needs write access to the folder only. A write-protected file is not replaced.
        guard path.withCString({ access($0, W_OK) }) == 0 else { throw .system(errno) }
        // Short: the file's own name may be as long as names can be.
        let draft = path.folder + ".gallery-\(UInt32.random(in: .min ... .max))"
        let descriptor = draft.withCString { open($0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) }
        guard descriptor >= 0 else { throw .system(errno) }
        do throws(Failure) {
            do throws(Failure) {
                try copyStatus(to: descriptor)
                try Self.fill(descriptor, with: data)
            } catch {
                close(descriptor)
                throw error
            }
            // Some file systems say only now that they are full.
            guard close(descriptor) == 0 else { throw .system(errno) }
            // The reading, the rotation and the writing take long enough for other programs.
            guard isCurrent else { throw .changed }
            guard draft.withCString({ draft in path.withCString { rename(draft, $0) } }) == 0 else {
                throw .system(errno)
            }
        } catch {
            _ = draft.withCString { unlink($0) }
            throw error
        }
    }

    /// Gives the draft the file's owner, permissions and extended attributes.
    private func copyStatus(to descriptor: Int32) throws(Failure) {
        // A default access control list of the folder may give rights that the file does not give.
        gallery_remove_access_list(descriptor)
        var draft = stat()
        guard fstat(descriptor, &draft) == 0 else { throw .system(errno) }
        // Some file systems have one owner and one mode for all files, and refuse to set them.
        if (draft.st_uid, draft.st_gid) != (status.st_uid, status.st_gid) {
            guard fchown(descriptor, status.st_uid, status.st_gid) == 0 else { throw .ownerWouldChange }
        }
        let permissions = status.st_mode & 0o7777
        if draft.st_mode & 0o7777 != permissions {
            guard fchmod(descriptor, permissions) == 0 else { throw .system(errno) }
        }
        let failure = path.withCString { gallery_copy_attributes($0, descriptor) }
        guard failure == 0 else { throw .system(failure) }
    }

    private static func fill(_ descriptor: Int32, with data: Data) throws(Failure) {
        do throws(SystemError) { try FileBytes.write(data, to: descriptor) } catch { throw .system(error.number) }
        guard fsync(descriptor) == 0 else { throw .system(errno) }
    }
}
