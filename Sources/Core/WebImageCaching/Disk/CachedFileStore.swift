package import FoundationEssentials
internal import Glibc
package import WebImageCore

/// The files of ``CachedFile``s in one folder.
///
/// ```
///  files/<key>-<content>.<extension>     <key>: digest of the image's source, <content>: digest of what the file shows
///  files/.<random>                       a file that is being written
/// ```
///
/// A file appears with all its bytes, and is never changed. Its modification time is that of its last use. Who holds a file has a shared lock
/// (`flock`) on it; it is removed only under an exclusive one, so that processes can share the folder.
package final class CachedFileStore: Sendable {
    private enum Place: Sendable {
        case beside(DiskDirectory)
        /// The temporary folder of the process.
        case temporary
    }

    private let place: Place
    /// In bytes.
    private let sizeLimit: Int64
    /// In microseconds, like the times.
    private let ageLimit: Int64
    private let now: @Sendable () -> Int64
    private let lastSweep = Lock<Int64>(.min)

    private static let second: Int64 = 1_000_000
    private static let sweepInterval = 3_600 * second
    /// How long an unlocked file that was being written is kept: its writer locks it at once.
    private static let writingTime = 60 * second
    /// The time of files that are removed as soon as nothing holds them.
    private static let forgottenTime: Int64 = 0

    /// The files of one disk cache.
    ///
    /// - Parameter now: microseconds since 1970.
    convenience init(beside configuration: DiskCache.Configuration, now: @escaping @Sendable () -> Int64) {
        let directory = DiskDirectory(
            path: configuration.directory.path, allowsForeignOwner: configuration.allowsForeignDirectory)
        self.init(
            .beside(directory), sizeLimit: configuration.cachedFileSizeLimit,
            ageLimit: configuration.cachedFileAgeLimit, now: now)
    }

    private init(_ place: Place, sizeLimit: Int64, ageLimit: Duration, now: @escaping @Sendable () -> Int64) {
        self.place = place
        self.sizeLimit = max(0, sizeLimit)
        self.ageLimit = ageLimit.clampedMicroseconds
        self.now = now
    }

    /// The files of caches that are not on disk.
    static let temporary: CachedFileStore = {
        let standard = DiskCache.Configuration()
        return CachedFileStore(
            .temporary, sizeLimit: standard.cachedFileSizeLimit, ageLimit: standard.cachedFileAgeLimit,
            now: DiskCache.microsecondsSince1970)
    }()

    // MARK: Names

    /// The name of a file.
    package struct Name: Sendable {
        let text: String
        let format: ImageFormat

        /// - Parameters:
        ///   - source: the source of the image's key.
        ///   - content: tells files of the source apart.
        package init(source: String, content: String, format: ImageFormat) {
            let digest = SHA256.hexDigest(of: Array(content.utf8)).prefix(16)
            text = "\(Self.key(of: source))-\(digest).\(format.fileExtension)"
            self.format = format
        }

        static func key(of source: String) -> Substring {
            SHA256.hexDigest(of: Array(source.utf8)).prefix(32)
        }
    }

    /// A text that identifies bytes.
    package static func content(of data: Data) -> String { "bytes \(data.count) \(Checksum.of(data))" }

    /// A text that identifies the pixels of an image; `nil` for an animation.
    static func content(of image: Image) -> String? {
        guard image.animation == nil else { return nil }
        let pixels = image.pixels
        var checksum = Checksum.initial
        for y in 0..<pixels.height {
            let row = UnsafeRawBufferPointer(start: pixels.row(y), count: 4 * pixels.width)
            checksum = Checksum.adding(row, to: checksum)
        }
        return "pixels \(pixels.size) \(checksum)"
    }

    // MARK: Files

    /// Returns the file with this name, after counting a use of it; `nil` if there is none. Blocks on the disk.
    func find(_ name: Name) -> CachedFile? {
        guard let folder = existingFolder, case .file(let file) = look(for: name, in: folder, byteCount: nil) else {
            return nil
        }
        return file
    }

    /// Returns the file with these bytes, which it writes unless it exists. Blocks on the disk.
    ///
    /// - Throws: ``WebImageError/file(path:errno:)``, and ``WebImageError/diskCache(path:reason:)`` if the folder cannot be made.
    func store(_ data: Data, as name: Name) throws(WebImageError) -> CachedFile {
        let folder = try makeFolder()
        // Others may write or remove the file between two steps.
        for _ in 0..<100 {
            let found = look(for: name, in: folder, byteCount: data.count)
            if case .file(let file) = found { return file }
            if let file = try write(data, as: name, in: folder, replaces: found.isOtherBytes) {
                sweep()
                return file
            }
        }
        throw .file(path: "\(folder)/\(name.text)", errno: EAGAIN)
    }

    /// Calls ``store(_:as:)`` on a thread of the library.
    package func file(_ data: Data, as name: Name) async throws(WebImageError) -> CachedFile {
        // The continuation passes on nothing; see Documentation/Decisions.md.
        let result = LockBox<Result<CachedFile, WebImageError>>(.failure(.cancelled))
        await withCheckedContinuation { continuation in
            DiskCache.readingQueue.submit {
                let stored = Result { () throws(WebImageError) in try self.store(data, as: name) }
                result.withLock { $0 = stored }
                continuation.resume()
            }
        }
        return try result.withLock { $0 }.get()
    }

    private enum Found {
        case file(CachedFile)
        /// There is a file that something has changed.
        case otherBytes
        case nothing

        var isOtherBytes: Bool { if case .otherBytes = self { true } else { false } }
    }

    /// - Parameter byteCount: the length that the file must have, if it is known.
    private func look(for name: Name, in folder: String, byteCount: Int?) -> Found {
        let path = "\(folder)/\(name.text)"
        guard let descriptor = try? RegularFile.open(path, O_RDONLY) else { return .nothing }
        var status = stat()
        // It may have been removed before it was locked.
        guard Self.lock(descriptor, LOCK_SH), fstat(descriptor, &status) == 0, status.st_nlink > 0 else {
            close(descriptor)
            return .nothing
        }
        guard status.st_size > 0, byteCount == nil || Int(status.st_size) == byteCount else {
            close(descriptor)
            return .otherBytes
        }
        Self.setTime(now(), of: descriptor)
        return .file(
            CachedFile(path: path, format: name.format, byteCount: Int(status.st_size), descriptor: descriptor))
    }

    /// Writes a file under a temporary name, and renames it; returns `nil` if another process was faster.
    ///
    /// - Parameter replaces: whether there is one with other bytes.
    private func write(
        _ data: Data, as name: Name, in folder: String, replaces: Bool
    ) throws(WebImageError) -> CachedFile? {
        let (path, temporary) = ("\(folder)/\(name.text)", "\(folder)/.\(UUID().uuidString)")
        do throws(RegularFile.Failure) {
            let descriptor = try RegularFile.open(temporary, O_RDWR | O_CREAT | O_EXCL)
            var isKept = false
            defer {
                if !isKept {
                    unlink(temporary)
                    close(descriptor)
                }
            }
            guard Self.lock(descriptor, LOCK_SH) else { throw RegularFile.Failure(errno: errno) }
            try Self.write(data, to: descriptor)
            Self.setTime(now(), of: descriptor)
            // A name that others hold must not get another file. Not all file systems have links.
            if !replaces, link(temporary, path) == 0 {
                unlink(temporary)
            } else if !replaces, [EEXIST, ENOENT].contains(errno) {
                return nil
            } else if rename(temporary, path) != 0 {
                throw RegularFile.Failure(errno: errno)
            }
            isKept = true
            return CachedFile(path: path, format: name.format, byteCount: data.count, descriptor: descriptor)
        } catch {
            throw .file(path: path, errno: error.errno)
        }
    }

    private static func write(_ data: Data, to descriptor: Int32) throws(RegularFile.Failure) {
        var failure: RegularFile.Failure?
        data.withUnsafeBytes { bytes in
            do throws(RegularFile.Failure) {
                try RegularFile.writeAll(bytes) { rest, offset in
                    pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset))
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        // After a power failure there is the whole file, or none.
        guard fdatasync(descriptor) == 0 else { throw RegularFile.Failure(errno: errno) }
    }

    /// - Parameter mode: `LOCK_SH`, or `LOCK_EX | LOCK_NB`.
    private static func lock(_ descriptor: Int32, _ mode: Int32) -> Bool {
        while flock(descriptor, mode) != 0 {
            guard errno == EINTR else { return false }
        }
        return true
    }

    private static func setTime(_ time: Int64, of descriptor: Int32) {
        let moment = timespec(tv_sec: Int(time / second), tv_nsec: Int(time % second) * 1_000)
        var times = [moment, moment]
        futimens(descriptor, &times)
    }

    private static func time(of status: stat) -> Int64 {
        Int64(status.st_mtim.tv_sec) * second + Int64(status.st_mtim.tv_nsec) / 1_000
    }
}

// MARK: - Removing

extension CachedFileStore {
    /// Removes the files that were not used for some time, and the least recently used ones until the rest is small enough; none
    /// that is held. Blocks on the disk.
    func sweep() {
        let now = now()
        lastSweep.withLock { $0 = now }
        guard let folder = existingFolder else { return }
        var entries = entries(in: folder)
        var total = entries.reduce(Int64(0)) { $0 + $1.byteCount }
        entries.sort { $0.time < $1.time }
        for entry in entries {
            let lifetime = entry.isWritten ? ageLimit : Self.writingTime
            guard entry.time < now - lifetime || total > sizeLimit else { continue }
            if Self.removeUnlessHeld(entry.path) { total -= entry.byteCount }
        }
    }

    /// Sweeps if that has not happened for an hour.
    func sweepIfDue() {
        let isDue = lastSweep.withLock { [now] in $0 == .min || $0 < now() - Self.sweepInterval }
        if isDue { sweep() }
    }

    /// Removes all files. Those that are held are removed when they are released.
    func removeAll() { remove { _ in true } }

    /// Calls ``removeAll()`` on a thread of the library.
    func clear() async {
        await withCheckedContinuation { continuation in
            DiskCache.readingQueue.submit {
                self.removeAll()
                continuation.resume()
            }
        }
    }

    /// Removes the files of one source.
    func removeAll(of source: String) {
        let beginning = "\(Name.key(of: source))-"
        remove { $0.hasPrefix(beginning) }
    }

    private func remove(where isRemoved: (_ name: String) -> Bool) {
        guard let folder = existingFolder else { return }
        for entry in entries(in: folder) where entry.isWritten && isRemoved(entry.name) {
            if Self.removeUnlessHeld(entry.path) { continue }
            guard let descriptor = try? RegularFile.open(entry.path, O_RDONLY) else { continue }
            Self.setTime(Self.forgottenTime, of: descriptor)
            close(descriptor)
            // It may have been released in between.
            Self.removeUnlessHeld(entry.path)
        }
    }

    /// Whether an open file was removed while it was held.
    static func isForgotten(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && time(of: status) == forgottenTime
    }

    /// Removes a file; returns `false` if something holds it.
    @discardableResult
    static func removeUnlessHeld(_ path: String) -> Bool {
        guard let descriptor = try? RegularFile.open(path, O_RDONLY) else { return true }
        // Closing releases the lock.
        defer { close(descriptor) }
        guard lock(descriptor, LOCK_EX | LOCK_NB) else { return false }
        var (opened, named) = (stat(), stat())
        // Another process may have removed it, and written it again.
        guard fstat(descriptor, &opened) == 0, lstat(path, &named) == 0 else { return true }
        if opened.st_ino == named.st_ino, opened.st_dev == named.st_dev { unlink(path) }
        return true
    }

    private struct Entry {
        let name: String
        let path: String
        let byteCount: Int64
        let time: Int64
        /// Whether the file is complete.
        var isWritten: Bool { !name.hasPrefix(".") }
    }

    private func entries(in folder: String) -> [Entry] {
        DiskDirectory.names(in: folder, followsLinks: false).compactMap { name in
            let path = "\(folder)/\(name)"
            var status = stat()
            guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            return Entry(name: name, path: path, byteCount: Int64(status.st_size), time: Self.time(of: status))
        }
    }
}

// MARK: - Folders

extension CachedFileStore {
    /// The folder, which may not exist; `nil` for a temporary one that was not made.
    private var existingFolder: String? {
        switch place {
        case .beside(let directory): directory.path + "/files"
        case .temporary: Self.temporaryFolder.withLock { $0 }
        }
    }

    private func makeFolder() throws(WebImageError) -> String {
        guard case .beside(let directory) = place else { return try Self.makeTemporaryFolder() }
        let folder = DiskDirectory(path: directory.path + "/files", allowsForeignOwner: directory.allowsForeignOwner)
        do throws(DiskFault) {
            try folder.create()
            try directory.checkOwner()
            try folder.checkOwner()
            return folder.path
        } catch {
            throw .diskCache(path: folder.path, reason: error.failure)
        }
    }

    private static let temporaryFolder = Lock<String?>(nil)
    /// A child of `fork` must not remove the folder.
    private static let process = getpid()

    private static func makeTemporaryFolder() throws(WebImageError) -> String {
        let (folder, isNew, failure) = temporaryFolder.withLock { folder -> (String?, Bool, Int32) in
            if let folder { return (folder, false, 0) }
            var pattern = Array("\(UnnamedFile.defaultDirectory)/webimage-XXXXXX".utf8CString)
            guard mkdtemp(&pattern) != nil else { return (nil, false, errno) }
            folder = String(decoding: pattern.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            return (folder, true, 0)
        }
        guard let folder else { throw .file(path: UnnamedFile.defaultDirectory, errno: failure) }
        if isNew, process == getpid() { atexit { CachedFileStore.removeTemporaryFolder() } }
        return folder
    }

    private static func removeTemporaryFolder() {
        guard process == getpid(), let folder = temporaryFolder.withLock({ $0 }) else { return }
        DiskDirectory.removeValues(folder)
    }
}
