import Foundation

/// Two connected ends, as a pipe has, that no other program inherits by chance: not even one started at this moment.
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
