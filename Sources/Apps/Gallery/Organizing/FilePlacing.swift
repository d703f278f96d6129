import CWebImageGTK
import FoundationEssentials
import Glibc
import GTKObjects
import ProgramSupport
import WebImageGTK

/// Copies and moves a photograph into a folder, with its sidecar. A file that is there stays: the other one gets a name with a number.
/// Each function blocks the thread.
struct FilePlacing: Sendable {
    enum Kind: Sendable {
        case copy, move
    }

    /// Why a file is not placed, for users.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let kind: Kind
    /// Moves a file on its file system; replaced in tests.
    var moveFile = FileMove()

    /// The numbers that are tried for a name.
    private static let numbers = 2...1_000

    /// - Parameters:
    ///   - folder: without a slash at its end, unless it is the root.
    ///   - name: the name to begin with; `nil` for that of the photograph.
    /// - Returns: the new place.
    func place(_ photo: URL, into folder: SystemString, named name: SystemString? = nil) throws(Failure) -> URL {
        guard photo.folder.withoutSlashAtEnd != folder else {
            throw Failure(description: localized("{file} is in this folder already.", ["file": photo.displayName]))
        }
        let prefix = folder.hasSuffix("/") ? folder : folder + "/"
        for number in [nil] + Self.numbers.map(Optional.some) {
            let place = URL(file: prefix + Self.name(name ?? photo.fileName, number))
            // The sidecar of another file would become that of this one.
            guard !Sidecar(of: place).exists, try putBoth(photo, at: place) else { continue }
            return place
        }
        throw Failure(description: "\(photo.displayName): \(String(cString: strerror(EEXIST)))")
    }

    /// Returns whether the place was unused.
    private func putBoth(_ photo: URL, at place: URL) throws(Failure) -> Bool {
        guard try put(photo, at: place) else { return false }
        let sidecar = Sidecar(of: photo)
        guard sidecar.exists else { return true }
        do throws(Failure) {
            guard try put(sidecar.file, at: Sidecar(of: place).file) else {
                throw Failure(description: "\(sidecar.file.displayName): \(String(cString: strerror(EEXIST)))")
            }
        } catch {
            // Both or none.
            takeBack(photo, from: place)
            throw error
        }
        return true
    }

    /// Brings a photograph back whose sidecar has failed.
    private func takeBack(_ photo: URL, from place: URL) {
        switch kind {
        case .copy: _ = place.filePath.withCString { unlink($0) }
        case .move: if (try? put(place, at: photo)) != true { return }
        }
    }

    private func put(_ file: URL, at place: URL) throws(Failure) -> Bool {
        guard kind == .move else { return try copy(file, to: place, followsLinks: true) }
        switch moveFile(file.filePath, to: place.filePath) {
        case nil: return true
        case EEXIST: return false
        case EXDEV:
            guard try copy(file, to: place, followsLinks: false) else { return false }
            do throws(Failure) {
                try keep(place)
            } catch {
                _ = place.filePath.withCString { unlink($0) }
                throw error
            }
            guard file.filePath.withCString({ unlink($0) }) == 0 else {
                let reason = String(cString: strerror(errno))
                _ = place.filePath.withCString { unlink($0) }
                throw Failure(description: "\(file.displayName): \(reason)")
            }
            return true
        case .some(let number):
            throw Failure(description: "\(file.displayName): \(String(cString: strerror(number)))")
        }
    }

    /// Writes a copy to the disk, before the original goes.
    private func keep(_ place: URL) throws(Failure) {
        let descriptor = place.filePath.withCString { open($0, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) }
        // The copy of a symbolic link is in its folder.
        if descriptor < 0, errno == ELOOP { return }
        let isKept = descriptor >= 0 && fsync(descriptor) == 0
        let reason = String(cString: strerror(errno))
        if descriptor >= 0 { close(descriptor) }
        guard isKept else { throw Failure(description: "\(place.displayName): \(reason)") }
    }

    /// Copies content, times, permissions and attributes. Returns `false` if the place is in use.
    private func copy(_ file: URL, to place: URL, followsLinks: Bool) throws(Failure) -> Bool {
        let source = file.filePath.withCString { g_file_new_for_path($0) }
        let target = place.filePath.withCString { g_file_new_for_path($0) }
        defer { for file in [source, target] { g_object_unref(UnsafeMutableRawPointer(file)) } }
        var flags = G_FILE_COPY_ALL_METADATA.rawValue
        if !followsLinks { flags |= G_FILE_COPY_NOFOLLOW_SYMLINKS.rawValue }
        var error: UnsafeMutablePointer<GError>?
        // Without the flag that overwrites, GIO makes the file itself or fails.
        guard g_file_copy(source, target, GFileCopyFlags(rawValue: flags), nil, nil, nil, &error) == 0 else {
            return true
        }
        let isInUse =
            error?.pointee.domain == g_io_error_quark() && error?.pointee.code == gint(G_IO_ERROR_EXISTS.rawValue)
        let message = error.takeMessage()
        if isInUse { return false }
        throw Failure(description: "\(file.displayName): \(message)")
    }

    /// Returns the name with a number before its ending: `photo (2).jpg`.
    static func name(_ name: SystemString, _ number: Int?) -> SystemString {
        guard let number else { return name }
        let dot = name.bytes.lastIndex(of: UInt8(ascii: ".")).flatMap { $0 > 0 ? $0 : nil } ?? name.bytes.count
        return SystemString(name.bytes[..<dot]) + " (\(number))" + SystemString(name.bytes[dot...])
    }
}
