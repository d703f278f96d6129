import Foundation
import WebImage

/// A tar archive: for each file a header of 512 bytes and the content, padded to a multiple of 512 bytes.
struct Archive {
    let path: String

    /// Returns the content of a file in the archive.
    func data(of name: String) throws(WebImageError) -> Data {
        var content: Data?
        try forEachFile { file, handle, size in
            guard file == name else { return true }
            content = try? handle.read(upToCount: size)
            return false
        }
        guard let content else { throw .file(path: "\(path)?\(name)", errno: ENOENT) }
        return content
    }

    /// Returns the names of all files.
    func names() throws(WebImageError) -> [String] {
        var names: [String] = []
        try forEachFile { name, _, _ in
            names.append(name)
            return true
        }
        return names
    }

    /// Calls `body` with each file's name and size and a handle at its content, until `body` returns `false`.
    private func forEachFile(_ body: (String, FileHandle, Int) -> Bool) throws(WebImageError) {
        guard let handle = FileHandle(forReadingAtPath: path) else { throw .file(path: path, errno: ENOENT) }
        defer { try? handle.close() }
        var offset: UInt64 = 0
        while let header = try? handle.read(upToCount: 512), header.count == 512, header[0] != 0 {
            let name = String(decoding: header[0..<100].prefix { $0 != 0 }, as: UTF8.self)
            let digits = String(decoding: header[124..<136].prefix { $0 != 0 && $0 != 0x20 }, as: UTF8.self)
            guard let size = Int(digits, radix: 8) else { return }
            // Type 0 is a file.
            if header[156] == UInt8(ascii: "0"), !body(name, handle, size) { return }
            offset += 512 + UInt64((size + 511) / 512 * 512)
            guard (try? handle.seek(toOffset: offset)) != nil else { return }
        }
    }
}
