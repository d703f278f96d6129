import CWebImageGTK
import FoundationEssentials
import Glibc
import GTKObjects
import ProgramSupport
import WebImageGTK

/// The desktop's trash, by the freedesktop.org Trash specification 1.0: GIO moves files there, and this brings them back.
///
///     TRASH/files/photo.2.jpg             what was removed
///     TRASH/info/photo.2.jpg.trashinfo    where it was, and when it was removed
///
/// `TRASH` is in the user's data folder for files of the same file system, and else at the root of the file's own.
struct Trash: Sendable {
    /// Why a file cannot be moved, for users.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The folder of the user's data, which has the trash of the home directory.
    var dataFolder = g_get_user_data_dir().map { String(cString: $0) } ?? ""

    /// Moves a file to the trash. Blocks the thread.
    func remove(_ file: URL) throws(Failure) {
        // Its bytes, since Foundation has an empty path for some, which would be the working directory.
        let object = file.filePath.withCString { g_file_new_for_path($0) }
        defer { g_object_unref(UnsafeMutableRawPointer(object)) }
        var error: UnsafeMutablePointer<GError>?
        guard g_file_trash(object, nil, &error) == 0 else { return }
        throw Failure(description: error.takeMessage())
    }

    /// Moves the file that was removed last from this place back to it. Blocks the thread.
    func restore(_ file: URL) throws(Failure) {
        let path = file.filePath
        let paths: Set<SystemString> = [path, Self.resolved(path)]
        let found = folders(for: Self.resolved(path)).flatMap { entries(of: paths, in: $0) }
        guard let entry = found.max(by: { $0.date < $1.date }) else {
            throw Failure(description: localized("{file} is no longer in the trash.", ["file": file.displayName]))
        }
        // Another file may have been made there since, which stays.
        if let failure = FileMove()(entry.content, to: path) {
            throw Failure(description: "\(file.displayName): \(String(cString: strerror(failure)))")
        }
        _ = entry.info.withCString { unlink($0) }
    }

    private struct Entry {
        let content: SystemString
        let info: SystemString
        /// As text, which sorts by time.
        let date: String
    }

    /// The folders that a file's trash may be in, with the path that the places in it are relative to.
    private func folders(for path: SystemString) -> [(trash: SystemString, root: SystemString?)] {
        let user = String(getuid())
        let root = Self.fileSystemRoot(of: path)
        return [
            (SystemString(dataFolder + "/Trash"), nil), (root + ".Trash/\(user)", root),
            (root + ".Trash-\(user)", root),
        ]
    }

    /// Returns the path without links to folders. GIO writes this one for files that are not on the file system of the home directory.
    private static func resolved(_ path: SystemString) -> SystemString {
        guard let folder = path.folder.withCString({ realpath($0, nil) }) else { return path }
        defer { free(folder) }
        return asFolder(SystemString(cString: folder)) + path.fileName
    }

    private static func asFolder(_ path: SystemString) -> SystemString { path.hasSuffix("/") ? path : path + "/" }

    /// The highest folder on the same file system, with a slash at the end.
    ///
    /// - Parameter path: a path without links to folders.
    private static func fileSystemRoot(of path: SystemString) -> SystemString {
        var (root, parent, status) = (path.folder, path.folder, stat())
        var device: dev_t?
        while parent.withCString({ stat($0, &status) }) == 0, device == nil || status.st_dev == device {
            (root, device) = (parent, status.st_dev)
            parent = SystemString(parent.bytes.dropLast()).folder
        }
        return root
    }

    private func entries(of paths: Set<SystemString>, in folder: (trash: SystemString, root: SystemString?)) -> [Entry]
    {
        guard let directory = (folder.trash + "/info").withCString({ opendir($0) }) else { return [] }
        defer { closedir(directory) }
        var entries: [Entry] = []
        while let item = readdir(directory) {
            let name = withUnsafePointer(to: &item.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { SystemString(cString: $0) }
            }
            let suffix = ".trashinfo"
            guard name.hasSuffix(suffix) else { continue }
            let info = folder.trash + "/info/" + name
            guard let text = (try? LocalFile.content(info)).map({ String(decoding: $0, as: UTF8.self) }),
                let place = Self.value(of: "Path", in: text).flatMap(Self.unescaped),
                let date = Self.value(of: "DeletionDate", in: text)
            else { continue }
            let original = place.hasPrefix("/") ? place : (folder.root ?? SystemString("/")) + place
            guard paths.contains(original) else { continue }
            let content = folder.trash + "/files/" + SystemString(name.bytes.dropLast(suffix.utf8.count))
            entries.append(Entry(content: content, info: info, date: date))
        }
        return entries
    }

    private static func value(of key: String, in text: String) -> String? {
        text.split(whereSeparator: \.isNewline).first { $0.hasPrefix(key + "=") }.map {
            String($0.dropFirst(key.count + 1))
        }
    }

    private static func unescaped(_ text: String) -> SystemString? {
        guard let bytes = g_uri_unescape_string(text, nil) else { return nil }
        defer { g_free(bytes) }
        return SystemString(cString: bytes)
    }
}
