import FoundationEssentials
import WebImageGTK

extension URL {
    /// The path of a file as the system has it: bytes, which Foundation knows only if they are UTF-8.
    var filePath: ByteString { ByteString(fileURL: self) ?? ByteString(path(percentEncoded: false)) }

    /// Creates the URL of a file. A path in UTF-8 is as Foundation codes it.
    init(file path: ByteString) { self = path.text.map { URL(filePath: $0) } ?? path.fileURL }

    /// The path of the folder of a file, with a slash at the end.
    var folder: ByteString { filePath.folder }

    /// The name of a file.
    var fileName: ByteString { filePath.fileName }
}

extension ByteString {
    /// The part of a path before its name, with a slash at the end; empty without one.
    var folder: ByteString { ByteString(bytes[..<((bytes.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1)]) }

    /// The part of a path behind its last slash.
    var fileName: ByteString { ByteString(bytes.dropFirst(folder.bytes.count)) }
}
