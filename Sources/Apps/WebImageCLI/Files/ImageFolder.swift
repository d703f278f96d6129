internal import Glibc
internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// The image files in a folder and the folders in it.
enum ImageFolder {
    /// A file, and its folder relative to the one that was searched.
    struct File: Equatable {
        let path: SystemString
        let folder: SystemString
    }

    /// The image files found in a folder.
    struct Content {
        var files: [File] = []
        /// Why folders in it could not be read.
        var failures: [WebImageError] = []
    }

    /// Returns the files whose extension names an image format: those of a folder in natural order, then those of its
    /// folders. Hidden files and folders, and links to folders, are left out. Blocks the calling thread.
    ///
    /// - Throws: ``WebImageError/file(path:errno:)`` if the folder itself cannot be read.
    static func content(of root: SystemString) throws(WebImageError) -> Content {
        var content = Content()
        var folders = [SystemString("")]
        // The last one is next, so that folders follow each other in order.
        while let folder = folders.popLast() {
            let path = root.appending(path: folder)
            var (inner, names): ([SystemString], [SystemString]) = ([], [])
            do throws(WebImageError) {
                names = try self.names(in: path)
            } catch {
                if folder.isEmpty { throw error }
                content.failures.append(error)
            }
            for name in names.sorted(by: isInOrder) {
                let file = path.appending(path: name)
                var status = stat()
                guard file.withCString({ lstat($0, &status) }) == 0 else { continue }
                if status.st_mode & S_IFMT == S_IFDIR {
                    inner.append(folder.appending(path: name))
                } else if ImageFormat(fileName: name) != nil, !OutputFile.isDirectory(file) {
                    content.files.append(File(path: file, folder: folder))
                }
            }
            folders += inner.reversed()
        }
        return content
    }

    private static func names(in path: SystemString) throws(WebImageError) -> [SystemString] {
        guard let stream = path.withCString({ opendir($0) }) else { throw .file(path: path.description, errno: errno) }
        defer { closedir(stream) }
        var names: [SystemString] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { SystemString(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    /// Natural order: `2.jpg` comes before `10.jpg`.
    static func isInOrder(_ first: SystemString, _ second: SystemString) -> Bool {
        let keys = (runs(of: first), runs(of: second))
        for (a, b) in zip(keys.0, keys.1) where a != b {
            if a.isNumber, b.isNumber {
                // Without leading zeros, the longer number is larger.
                let (x, y) = (a.bytes.drop { $0 == UInt8(ascii: "0") }, b.bytes.drop { $0 == UInt8(ascii: "0") })
                if x.count != y.count { return x.count < y.count }
                if !x.elementsEqual(y) { return x.lexicographicallyPrecedes(y) }
                continue
            }
            return a.bytes.lexicographicallyPrecedes(b.bytes)
        }
        if keys.0.count != keys.1.count { return keys.0.count < keys.1.count }
        return first.bytes.lexicographicallyPrecedes(second.bytes)
    }

    private struct Run: Equatable {
        let isNumber: Bool
        var bytes: [UInt8]
    }

    /// The digits and the other bytes of a name.
    private static func runs(of name: SystemString) -> [Run] {
        name.bytes.reduce(into: []) { runs, byte in
            let isNumber = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            if runs.last?.isNumber == isNumber {
                runs[runs.count - 1].bytes.append(byte)
            } else {
                runs.append(Run(isNumber: isNumber, bytes: [byte]))
            }
        }
    }
}
