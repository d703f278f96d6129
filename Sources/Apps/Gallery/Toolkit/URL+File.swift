import FoundationEssentials
import ProgramSupport
import WebImageGTK

extension URL {
    /// The path of a file as the system has it: bytes, which Foundation knows only if they are UTF-8.
    var filePath: SystemString { SystemString(fileURL: self) ?? SystemString(path(percentEncoded: false)) }

    /// Creates the URL of a file. A path in UTF-8 is as Foundation codes it.
    init(file path: SystemString) { self = path.text.map { URL(filePath: $0) } ?? path.fileURL }

    /// The path of the folder of a file, with a slash at the end.
    var folder: SystemString { filePath.folder }

    /// The name of a file.
    var fileName: SystemString { filePath.fileName }
}

extension SystemString {
    /// The part of a path before its name, with a slash at the end; empty without one.
    var folder: SystemString { SystemString(bytes[..<((bytes.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1)]) }

    /// The part of a path behind its last slash.
    var fileName: SystemString { SystemString(bytes.dropFirst(folder.bytes.count)) }

    /// A path of a folder without the slash at its end, which only the root has.
    var withoutSlashAtEnd: SystemString {
        let end = bytes.reversed().drop { $0 == UInt8(ascii: "/") }.count
        return end == 0 ? self : SystemString(bytes.prefix(end))
    }
}
