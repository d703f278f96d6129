import Foundation

/// Two connected ends, like a pipe's, that no other process inherits.
struct StreamPair {
    let readingEnd: FileHandle
    let writingEnd: FileHandle

    init() throws {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw ToolError("no socket pair: errno \(errno)") }
        readingEnd = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        writingEnd = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    }
}
