import FoundationEssentials

/// The contenders: our cache, and what a program would use without it.
enum DiskContender: String, CaseIterable, Sendable {
    /// Through the blocking calls, on the caller's thread.
    case ours
    /// A file for each value: written under another name and renamed, so that it is whole or absent.
    case files
    /// A table, with prepared statements, a log, and transactions of as many changes as one of ours.
    case sqlite
    /// Likewise, in a memory-mapped tree.
    case lmdb

    /// Without LMDB where its header is missing.
    static var present: [DiskContender] {
        allCases
    }

    /// As many changes as go into one transaction, as in our cache.
    static let batchCount = 1_024

    /// Opens what is in the directory, or makes it.
    func open(_ directory: String) throws -> any DiskStore {
        switch self {
        case .ours: return OurStore(directory: directory)
        case .files: return FileStore(directory: directory)
        case .sqlite: return try SQLiteStore(directory: directory)
        case .lmdb:
            return try LMDBStore(directory: directory)
        }
    }
}

/// One contender's store, open.
protocol DiskStore: Sendable {
    /// The objects of one thread, since connections and statements cannot be shared.
    func session() throws -> any DiskSession
    /// Returns when everything that was set or removed can be seen by another process.
    func waitUntilWritten()
}

/// Places are those of ``DiskEntries``.
protocol DiskSession {
    func set(_ places: Range<Int>, of entries: DiskEntries, generation: Int) throws
    func remove(_ places: Range<Int>, of entries: DiskEntries) throws
    /// Calls `body` with a copy of the bytes; `nil` when there are none.
    func get<Result>(_ key: String, byteCount: Int, _ body: (UnsafeRawBufferPointer) -> Result) throws -> Result?
}

extension DiskStore {
    func waitUntilWritten() {}
}

extension Range<Int> {
    /// Parts of at most `count`.
    func parts(of count: Int) -> [Range<Int>] {
        stride(from: lowerBound, to: upperBound, by: count).map { $0..<Swift.min($0 + count, upperBound) }
    }
}
