import CWebImageGTK
import FoundationEssentials
import Glibc
import ProgramSupport
import WebImageGTK

/// Finds the images in a folder and the folders inside it.
///
/// Files are told by their names, so that a scan of 100,000 files opens none. Hidden files and folders are left out by default. Links to
/// files count, links to folders do not, so that no circle of links is followed.
struct FolderScanner: Sendable {
    /// The endings of names, in lower case.
    let extensions: Set<String>
    /// Whether files and folders whose names begin with a dot are found.
    var findsHidden = false

    init(registry: CodecRegistry = .shared) {
        var extensions = Set(registry.readableFormats.map(\.fileExtension))
        for (format, others) in Self.otherExtensions where extensions.contains(format) { extensions.formUnion(others) }
        self.extensions = extensions
    }

    private static let otherExtensions: [String: [String]] = [
        "jpg": ["jpeg", "jpe", "jfif"], "png": ["apng"], "bmp": ["dib"], "ico": ["cur"],
        "pnm": ["pbm", "pgm", "ppm", "pam"], "heic": ["heif"], "tiff": ["tif"], "jp2": ["j2k", "jpf", "jpx"],
        "svg": ["svgz"], "avif": ["avifs"],
    ]

    func isImage(named name: String) -> Bool {
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return false }
        return extensions.contains(name[name.index(after: dot)...].lowercased())
    }

    /// The usual ending of the files of a name's format, such as `jpg` for `photo.JPEG`; `nil` for a name that is not an image's.
    func format(ofFileNamed name: String) -> String? {
        guard isImage(named: name), let dot = name.lastIndex(of: ".") else { return nil }
        let ending = name[name.index(after: dot)...].lowercased()
        return Self.otherExtensions.first { $0.value.contains(ending) }?.key ?? ending
    }

    /// The folders directly in a folder, in order; none if it cannot be read. Blocks the thread.
    func folders(in folder: SystemString, _ cancellation: Cancellation = Cancellation()) -> [SystemString] {
        let prefix = folder.hasSuffix("/") ? folder : folder + "/"
        return (content(of: folder, cancellation)?.folders ?? []).map { prefix + $0 }
    }

    /// How many images of a folder are reported first, if it has many more. The others follow while these load.
    private static let firstCount = 256

    /// Calls `body` with each folder, as ``URL/folder`` has it, and the images directly in it, which may be none, in the order that
    /// users expect of names: 2 before 10. A folder of many images is reported twice, with its first images and with the others.
    /// Blocks the thread.
    ///
    /// - Parameter cancellation: stops the scan at the next entry of a folder.
    /// - Returns: the error number if the folder itself cannot be read.
    func scan(
        _ folder: SystemString, _ cancellation: Cancellation, _ body: (_ folder: SystemString, _ images: [URL]) -> Void
    ) -> Int32? {
        let folder = folder.withoutSlashAtEnd
        var pending = [folder]
        while let path = pending.popLast() {
            guard let content = content(of: path, cancellation) else {
                // A folder inside that cannot be read hides only its own images.
                if path == folder { return errno }
                continue
            }
            guard !cancellation.isCancelled else { return nil }
            let prefix = path.hasSuffix("/") ? path : path + "/"
            let isLarge = content.files.count > 2 * Self.firstCount
            let first = content.files.prefix(isLarge ? Self.firstCount : content.files.count)
            body(prefix, first.map { URL(file: prefix + $0) })
            if isLarge { body(prefix, content.files.dropFirst(first.count).map { URL(file: prefix + $0) }) }
            pending += content.folders.map { prefix + $0 }.reversed()
        }
        return nil
    }

    /// Returns the names of the images and folders directly in a folder, each in that order; `nil` with an error number if it cannot be
    /// read.
    private func content(of path: SystemString, _ cancellation: Cancellation) -> (
        files: [SystemString], folders: [SystemString]
    )? {
        guard let directory = path.withCString({ opendir($0) }) else { return nil }
        defer { closedir(directory) }
        let prefix = path.hasSuffix("/") ? path : path + "/"
        var (files, folders): ([SystemString], [SystemString]) = ([], [])
        while !cancellation.isCancelled, let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { SystemString(cString: $0) }
            }
            guard findsHidden ? name.bytes != [0x2E] && name.bytes != [0x2E, 0x2E] : !name.hasPrefix(".") else {
                continue
            }
            switch kind(of: entry.pointee, at: prefix + name) {
            case .folder: folders.append(name)
            case .file where isImage(named: name.description): files.append(name)
            case .file, .other: break
            }
        }
        return (Self.inNaturalOrder(files), Self.inNaturalOrder(folders))
    }

    /// Returns the images directly in a folder, in the order of names, with files among them that are known to be images whatever
    /// their names are. Blocks the thread.
    func images(in folder: SystemString, and known: [URL], _ cancellation: Cancellation) -> [URL] {
        let prefix = folder.hasSuffix("/") ? folder : folder + "/"
        var files = Dictionary(
            (content(of: folder, cancellation)?.files ?? []).map { ($0, URL(file: prefix + $0)) },
            uniquingKeysWith: { first, _ in first })
        // As they were opened: the texts may have another form.
        for file in known
        where files[file.fileName] != nil || file.filePath.withCString({ access($0, F_OK) }) == 0 {
            files[file.fileName] = file
        }
        return Self.inNaturalOrder(Array(files.keys)).compactMap { files[$0] }
    }

    private enum Kind { case file, folder, other }

    private func kind(of entry: dirent, at path: SystemString) -> Kind {
        switch Int(entry.d_type) {
        case Int(DT_REG): return .file
        case Int(DT_DIR): return .folder
        case Int(DT_LNK), Int(DT_UNKNOWN):
            var status = stat()
            guard path.withCString({ stat($0, &status) }) == 0 else { return .other }
            switch status.st_mode & S_IFMT {
            case S_IFREG: return .file
            case S_IFDIR where Int(entry.d_type) == Int(DT_UNKNOWN): return .folder
            default: return .other
            }
        default: return .other
        }
    }

    /// Bytes in whose order users expect names: 2 before 10.
    static func orderKey(of name: String) -> [UInt8] {
        guard let key = g_utf8_collate_key_for_filename(name, -1) else { return Array(name.utf8) }
        defer { g_free(key) }
        return SystemString(cString: key).bytes
    }

    private static func inNaturalOrder(_ names: [SystemString]) -> [SystemString] {
        names.map { (key: orderKey(of: $0.description), name: $0) }
            .sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.name)
    }
}
