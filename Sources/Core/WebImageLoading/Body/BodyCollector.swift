internal import CWebImageSystem
package import FoundationEssentials
internal import Glibc
package import WebImageCore

/// Collects a body as it arrives: in memory up to a limit, in a temporary file above it.
///
///     loader's thread                         spool thread
///     ───────────────                         ────────────
///     append ──► BodyBuffer
///        └─────► waiting pieces ────────────► SpoolFile ──► mapped at the end
///                   └ counted in the SpoolBacklog, which pauses loads
package final class BodyCollector: Sendable {
    private struct State {
        var byteCount = 0
        var buffer = BodyBuffer(capacity: 0)
        /// Set once the body is too long for memory; the buffer is then no longer used.
        var spool: Spool?
        /// Retained once it was returned. `Data` mutates memory in place if it has the only reference, but this memory
        /// has other readers.
        var wholeBody: Data?
        /// Whether the buffer has a file in place, which takes no memory.
        var isMapped = false
    }

    /// A body that is being written to a file.
    private struct Spool {
        var file: SpoolFile?
        /// The number of bytes that the file system must have space for.
        var neededByteCount: Int64 = 0
        var waiting: [Data] = []
        var writtenByteCount = 0
        /// Whether a thread is writing, or about to.
        var isWriting = false
        var failure: WebImageError?
        var completion: (@Sendable (Result<Data, WebImageError>) -> Void)?

        /// Returns `true` to the caller that has to start a thread.
        mutating func claimWriting() -> Bool {
            defer { isWriting = true }
            return !isWriting
        }
    }

    private let storage: BodyStorage
    private let backlog: SpoolBacklog
    private let load = DeferredTask()
    private let state = Lock(State())

    /// Writes bodies to files.
    static let queue = WorkQueue(label: "webimage-spool", threadCount: 2)
    /// Servers may announce any length. Above this limit the buffer grows as data arrives.
    private static let believedByteCount: Int64 = 32 << 20

    package init(_ storage: BodyStorage, backlog: SpoolBacklog = .shared) {
        self.storage = storage
        self.backlog = backlog
    }

    /// Sets the load of the body, so that it can be paused.
    package func attach(_ task: any LoaderTask) { load.attach(task) }

    /// Called when the load has ended, successfully or not.
    package func loadDidEnd() { load.end() }

    /// Prepares for the announced length, up to a limit. That of a local file is true: if there is no space for it, the
    /// body fails before any of it is stored.
    ///
    /// - Parameter isMemoryScarce: whether the body goes to a file regardless of its length. Has no effect if
    ///   ``BodyStorage/memoryByteLimit`` is unlimited.
    package func begin(_ response: LoaderResponse, isMemoryScarce: Bool = false) {
        let expected = response.expectedByteCount ?? 0
        let isSpooled = state.withLock { state in
            if expected > storage.memoryByteLimit || isMemoryScarce && storage.memoryByteLimit < .max {
                state.spool = Spool(neededByteCount: response.url.isFileURL ? expected : 0)
                return true
            }
            state.buffer = BodyBuffer(capacity: Int(min(expected, Self.believedByteCount)))
            return false
        }
        if isSpooled { backlog.add(0, of: load) }
    }

    /// Appends the next piece; returns the number of bytes received.
    @discardableResult
    package func append(_ bytes: Data) -> Int {
        let (byteCount, addedByteCount, startsWriting) = state.withLock { state -> (Int, Int, Bool) in
            state.byteCount += bytes.count
            if state.byteCount == bytes.count, MappedFile.file(of: bytes) != nil {
                (state.spool, state.buffer, state.isMapped) = (nil, BodyBuffer(capacity: 0), true)
                state.buffer.append(bytes)
                return (state.byteCount, 0, false)
            }
            var addedByteCount = bytes.count
            if state.spool == nil {
                guard state.byteCount > storage.memoryByteLimit else {
                    state.buffer.append(bytes)
                    return (state.byteCount, 0, false)
                }
                state.spool = Spool()
                if state.buffer.count > 0 { state.spool?.waiting.append(state.buffer.prefix(state.buffer.count)) }
                addedByteCount += state.buffer.count
                state.buffer = BodyBuffer(capacity: 0)
            }
            guard var spool = state.spool, spool.failure == nil else { return (state.byteCount, 0, false) }
            state.spool = nil
            spool.waiting.append(bytes)
            defer { state.spool = spool }
            return (state.byteCount, addedByteCount, spool.claimWriting())
        }
        if addedByteCount > 0 { backlog.add(addedByteCount, of: load) }
        if startsWriting { submitWriting() }
        return byteCount
    }

    /// Whether the body is in a file, or is being written to one.
    package var isInFile: Bool { state.withLock { $0.spool != nil || $0.isMapped } }

    /// The number of bytes received.
    var byteCount: Int { state.withLock { $0.byteCount } }

    /// Why the body could not be stored; the load is then cancelled.
    package var failure: WebImageError? { state.withLock { $0.spool?.failure } }

    /// Returns the beginning of the body without a copy; it must not be changed. For a body in a file, only bytes
    /// already written are returned.
    package func prefix(_ byteCount: Int) -> Data {
        let (data, file, writtenByteCount) = state.withLock { state in
            (
                state.spool == nil ? state.buffer.prefix(byteCount) : nil, state.spool?.file,
                state.spool?.writtenByteCount
            )
        }
        if let data { return data }
        return (try? file?.map(min(byteCount, writtenByteCount ?? 0))) ?? Data()
    }

    /// Returns the whole body: immediately if it is in memory, otherwise on another thread once it is written.
    package func end(_ completion: @escaping @Sendable (Result<Data, WebImageError>) -> Void) {
        let (data, startsWriting) = state.withLock { state -> (Data?, Bool) in
            guard state.spool == nil else {
                state.spool?.completion = completion
                return (nil, state.spool?.claimWriting() ?? false)
            }
            let body = state.wholeBody ?? state.buffer.prefix(state.buffer.count)
            state.wholeBody = body
            return (body, false)
        }
        if let data { completion(.success(data)) }
        if startsWriting { submitWriting() }
    }

    // MARK: On a spool thread

    private func submitWriting() { Self.queue.submit(priority: .high) { [self] in write() } }

    private func write() {
        while let batch = takeBatch() {
            var pieces = batch.pieces
            do throws(WebImageError) {
                try write(batch)
            } catch {
                pieces += state.withLock { state in
                    state.spool?.failure = error
                    defer { state.spool?.waiting = [] }
                    return state.spool?.waiting ?? []
                }
                load.cancel()
            }
            backlog.remove(pieces.reduce(0) { $0 + $1.count })
        }
        complete()
    }

    private typealias Batch = (pieces: [Data], file: SpoolFile?, neededByteCount: Int64, offset: Int)

    /// Returns the waiting pieces. If there are none, ends writing and returns `nil`; the next piece starts another
    /// thread.
    private func takeBatch() -> Batch? {
        state.withLock { state in
            guard let spool = state.spool, !spool.waiting.isEmpty else {
                state.spool?.isWriting = false
                return nil
            }
            state.spool?.waiting = []
            return (spool.waiting, spool.file, spool.neededByteCount, spool.writtenByteCount)
        }
    }

    private func write(_ batch: Batch) throws(WebImageError) {
        let file =
            if let file = batch.file { file } else {
                try SpoolFile(in: storage.temporaryDirectory, for: batch.neededByteCount)
            }
        var end = batch.offset
        for piece in batch.pieces {
            try file.write(piece, at: Int64(end))
            end += piece.count
        }
        state.withLock { [end] state in
            state.spool?.file = file
            state.spool?.writtenByteCount = end
        }
    }

    /// Returns the file if the body has ended and is written completely.
    private func complete() {
        let (completion, file, byteCount, failure): Handover = state.withLock { state in
            let spool = state.spool
            let isDone = spool.map { !$0.isWriting && $0.waiting.isEmpty } ?? false
            defer { if isDone { state.spool?.completion = nil } }
            return (isDone ? spool?.completion : nil, spool?.file, spool?.writtenByteCount ?? 0, spool?.failure)
        }
        guard let completion else { return }
        do throws(WebImageError) {
            if let failure { throw failure }
            completion(.success(try file?.map(byteCount) ?? Data()))
        } catch {
            completion(.failure(error))
        }
    }

    private typealias Handover = (
        completion: (@Sendable (Result<Data, WebImageError>) -> Void)?, file: SpoolFile?, byteCount: Int,
        failure: WebImageError?
    )
}

/// Where the bodies of loads are stored.
package struct BodyStorage: Sendable {
    /// The longest body stored in memory, in bytes; 8 MiB by default.
    ///
    /// Longer bodies go to a temporary file without a name, and are returned as `Data` mapped from it. Nearly all
    /// images on the web are shorter. With this limit 32 concurrent transfers use at most 256 MiB.
    package var memoryByteLimit = 8 << 20
    /// The directory of temporary files; `TMPDIR` if it is set, otherwise `/var/tmp`, since `/tmp` is in memory on many
    /// systems.
    var temporaryDirectory: URL

    /// Creates the default configuration.
    package init() {
        let path = ProcessInfo.processInfo.environment["TMPDIR"] ?? ""
        temporaryDirectory = URL(filePath: path.isEmpty ? "/var/tmp" : path, directoryHint: .isDirectory)
    }

    /// Creates a configuration for tests.
    init(memoryByteLimit: Int, temporaryDirectory: URL) {
        self.memoryByteLimit = memoryByteLimit
        self.temporaryDirectory = temporaryDirectory
    }
}

/// Bytes in memory that are only appended to, so that existing ones can be read without a copy while more arrive.
struct BodyBuffer {
    private(set) var count = 0
    private let capacity: Int
    /// A body that has arrived in one piece needs no block.
    private var onlyPiece: Data?
    private var block: Block?

    /// - Parameter capacity: the number of bytes to allocate memory for; 0 if unknown.
    init(capacity: Int) { self.capacity = capacity }

    private static let minimumCapacity = 512

    mutating func append(_ bytes: Data) {
        // Callers of a loader index a body from 0, unlike a slice.
        if count == 0, bytes.count >= capacity, bytes.startIndex == 0 {
            (onlyPiece, count) = (bytes, bytes.count)
            return
        }
        if let piece = onlyPiece.take() {
            count = 0
            copy(piece)
        }
        copy(bytes)
    }

    private mutating func copy(_ bytes: Data) {
        let block = block(for: bytes.count)
        bytes.withUnsafeBytes { block.write($0, at: count) }
        count += bytes.count
    }

    private mutating func block(for byteCount: Int) -> Block {
        let needed = count + byteCount
        if let block, needed <= block.capacity { return block }
        let larger = Block(capacity: max((block?.capacity ?? 0) * 2, needed, capacity, Self.minimumCapacity))
        if let block { larger.write(UnsafeRawBufferPointer(start: block.start, count: count), at: 0) }
        block = larger
        return larger
    }

    /// Returns the first bytes without a copy. They keep the memory alive and must not be changed.
    func prefix(_ byteCount: Int) -> Data {
        let byteCount = min(byteCount, count)
        if let onlyPiece { return onlyPiece.prefix(byteCount) }
        guard byteCount > 0, let block else { return Data() }
        return Data(bytesNoCopy: block.start, count: byteCount, deallocator: .custom { [block] _, _ in _ = block })
    }

    /// `@unchecked`: each byte is written once, by the buffer's only owner, before other threads can see it. The rest
    /// is constant.
    private final class Block: @unchecked Sendable {
        let start: UnsafeMutableRawPointer
        let capacity: Int

        init(capacity: Int) {
            // A larger alignment would be slower than `malloc`, which aligns to 16 anyway.
            start = .allocate(byteCount: capacity, alignment: 1)
            self.capacity = capacity
        }

        deinit { start.deallocate() }

        func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
            precondition(offset + bytes.count <= capacity)
            if let source = bytes.baseAddress { (start + offset).copyMemory(from: source, byteCount: bytes.count) }
        }
    }
}

/// A temporary file without a name. It is deleted with its last descriptor and mapping, also when the process is
/// killed.
final class SpoolFile: Sendable {
    private let descriptor: Int32
    private let directory: String

    /// - Parameter byteCount: what there must be space for.
    init(in directory: URL, for byteCount: Int64) throws(WebImageError) {
        let path = directory.path(percentEncoded: false)
        let descriptor = cwi_open_unnamed_file(path)
        guard descriptor >= 0 else { throw .outOfResources(reason: .temporaryFile(directory: path, errno: errno)) }
        guard RegularFile.hasSpace(for: byteCount, on: descriptor) != false else {
            close(descriptor)
            throw .outOfResources(reason: .temporaryFile(directory: path, errno: ENOSPC))
        }
        self.descriptor = descriptor
        self.directory = path
    }

    deinit { close(descriptor) }

    func write(_ bytes: Data, at offset: Int64) throws(WebImageError) {
        let failure = bytes.withUnsafeBytes { bytes -> Int32 in
            do throws(RegularFile.Failure) {
                try RegularFile.writeAll(bytes) { rest, written in
                    pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(written))
                }
                return 0
            } catch {
                return error.errno
            }
        }
        guard failure == 0 else { throw .outOfResources(reason: .temporaryFile(directory: directory, errno: failure)) }
    }

    /// Maps the first bytes, which must have been written. The mapping lives as long as the data.
    func map(_ byteCount: Int) throws(WebImageError) -> Data {
        guard byteCount > 0 else { return Data() }
        // Writable and private: `Data` is copied on write, so nothing writes to the mapping. If something did, only
        // private pages would change.
        let start = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0)
        guard let start, start != MAP_FAILED else {
            throw .outOfResources(reason: .temporaryFile(directory: directory, errno: errno))
        }
        return Data(bytesNoCopy: start, count: byteCount, deallocator: .custom { start, count in munmap(start, count) })
    }
}
