internal import Glibc

/// The directory of partial bodies. Files are reached through its descriptor, so that nobody can put another directory in
/// its place half-way; others' files in it are never touched.
struct PartialDirectory: Sendable {
    let path: String

    /// What partial bodies are called: 64 digits and this.
    static let suffix = ".partial"

    static func name(key: String) -> String { key + suffix }

    private static func isName(_ name: String) -> Bool {
        name.hasSuffix(suffix) && name.utf8.count == 64 + suffix.utf8.count
            && name.utf8.prefix(64).allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// Calls `body` with a descriptor of the directory; `nil` where there is none, or none that is this user's alone.
    ///
    /// - Parameter creates: whether to make it, and those above it, for this user only.
    func withDescriptor<Result>(creates: Bool = false, _ body: (Int32) -> Result?) -> Result? {
        var directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        if directory < 0, errno == ENOENT, creates {
            create()
            directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        }
        guard directory >= 0 else { return nil }
        defer { close(directory) }
        var status = stat()
        guard fstat(directory, &status) == 0, status.st_uid == geteuid() else { return nil }
        guard status.st_mode & 0o077 == 0 || fchmod(directory, 0o700) == 0 else { return nil }
        return body(directory)
    }

    private func create() {
        var made = path.hasPrefix("/") ? "/" : ""
        for component in path.split(separator: "/") {
            made += component
            mkdir(made, 0o700)
            made += "/"
        }
    }

    /// A file of it, open and locked for this process alone.
    ///
    /// - Returns: a descriptor; `nil` where there is no such file and `creates` does not ask for one, where another process
    ///   or load has it, and where something else has its name.
    static func openLocked(_ name: String, in directory: Int32, creates: Bool = false) -> Int32? {
        // O_NONBLOCK, should it be a pipe.
        let flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (creates ? O_CREAT : 0)
        let descriptor = openat(directory, name, flags, 0o600)
        guard descriptor >= 0 else { return nil }
        var (opened, named) = (stat(), stat())
        // The kernel gives the lock back with the last descriptor, however the process ends.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &opened) == 0, isOurs(opened),
            // Whoever had the lock before may have deleted the file meanwhile.
            fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0,
            named.st_ino == opened.st_ino, named.st_dev == opened.st_dev
        else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// A regular file of this user's with one name.
    private static func isOurs(_ status: stat) -> Bool {
        status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid() && status.st_nlink == 1
    }

    /// One partial body as the file system has it.
    struct Entry {
        let name: String
        let byteCount: Int64
        /// When it was used last: uses set its time of modification.
        let secondsUnused: Double
    }

    /// The partial bodies, the one that was unused for the longest time first.
    func entries(in directory: Int32) -> [Entry] {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let entries = Self.names(in: directory).compactMap { name -> Entry? in
            var status = stat()
            guard Self.isName(name), fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
                Self.isOurs(status)
            else { return nil }
            return Entry(
                name: name, byteCount: Int64(status.st_size), secondsUnused: status.st_mtim.seconds(until: now))
        }
        return entries.sorted { $0.secondsUnused > $1.secondsUnused }
    }

    /// Deletes a partial body unless somebody has it; whether it is gone.
    static func removeUnused(_ name: String, in directory: Int32) -> Bool {
        guard let descriptor = openLocked(name, in: directory) else { return false }
        defer { close(descriptor) }
        return unlinkat(directory, name, 0) == 0
    }

    private static func names(in directory: Int32) -> [String] {
        // A descriptor of its own: reading moves its place, and `closedir` closes it.
        let copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { return [] }
        guard let stream = fdopendir(copy) else {
            close(copy)
            return []
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                    pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names
    }
}

extension timespec {
    fileprivate func seconds(until later: timespec) -> Double {
        Double(later.tv_sec - tv_sec) + Double(later.tv_nsec - tv_nsec) / 1e9
    }
}
