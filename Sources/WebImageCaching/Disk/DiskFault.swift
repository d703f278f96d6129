internal import CWebImageSQLite
internal import Glibc
internal import WebImageCore

/// Why an operation on the disk failed, before it is decided what to do about it.
enum DiskFault: Error {
    case system(errno: Int32)
    case index(code: Int32, message: String)
    /// The index was made by an older version of this library, and is of no use.
    case olderIndex
    /// Something that is no regular file has the name of one of the cache's.
    case obstacle(path: String)
    /// The directory belongs to another user.
    case foreignDirectory(owner: Int)
    /// The file to which values were to be added is gone, or shorter than the index has it.
    case missingSegment

    init(_ failure: RegularFile.Failure, path: String) {
        self = failure.isObstacle ? .obstacle(path: path) : .system(errno: failure.errno)
    }

    /// The index file is damaged, or none at all.
    var isCorruption: Bool {
        if case .index(let code, _) = self { return [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xFF) }
        return false
    }

    /// SQLite did not find the tables and columns that a statement names, or found those that it is to make. That is so
    /// when the file was made by another program, or by half, and shows when the statements are prepared.
    var isForeignSchema: Bool {
        if case .index(let code, _) = self { return code & 0xFF == SQLITE_ERROR }
        return false
    }

    /// The file system, or the user's share of it, has no space left.
    var isFullDisk: Bool {
        switch self {
        case .system(let errno): errno == ENOSPC || errno == EDQUOT
        case .index(let code, _): code & 0xFF == SQLITE_FULL
        case .olderIndex, .obstacle, .foreignDirectory, .missingSegment: false
        }
    }

    /// Another process holds the index.
    var isLocked: Bool {
        if case .index(let code, _) = self { return [SQLITE_BUSY, SQLITE_LOCKED].contains(code & 0xFF) }
        return false
    }

    /// The same may succeed now that something has been done about the fault.
    var isWorthRepeating: Bool {
        switch self {
        case .missingSegment, .obstacle: true
        default: isLocked
        }
    }

    /// The next operation may succeed.
    var isPassing: Bool { isLocked || isFullDisk }

    /// What the client is told.
    var failure: WebImageError.DiskCacheFailure {
        switch self {
        case .system(let errno): .system(errno: errno)
        case .index(let code, _) where code & 0xFF == SQLITE_FULL: .system(errno: ENOSPC)
        case .index(let code, let message): .index(code: Int(code), message: message)
        case .missingSegment: .system(errno: ENOENT)
        case .obstacle: .system(errno: EEXIST)
        case .foreignDirectory(let owner): .foreignDirectory(owner: owner)
        case .olderIndex: .index(code: Int(SQLITE_SCHEMA), message: "made by an older version of this library")
        }
    }
}
