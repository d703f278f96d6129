import Glibc

/// Moves a file to another place, unless there is a file.
enum FileMove {
    /// Returns the error number; `nil` if it was moved. Blocks the thread.
    static func move(_ file: String, to place: String) -> Int32? {
        // Renaming would replace a file; a link does not.
        if link(file, place) == 0 { return unlink(file) == 0 ? nil : errno }
        // Some file systems have no links.
        guard errno == EPERM || errno == ENOTSUP else { return errno }
        guard access(place, F_OK) != 0 else { return EEXIST }
        return rename(file, place) == 0 ? nil : errno
    }
}
