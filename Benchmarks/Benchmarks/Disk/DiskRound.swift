import Dispatch
import Glibc
import WebImageCore

/// One contender's times in one round, on an empty directory.
struct DiskRound {
    enum Operation: String, CaseIterable {
        /// Until another process has read and hashed it all.
        case set
        case get
        /// Ours only: through `await`.
        case asyncGet = "get, async"
        case miss
        /// Until another process has read and hashed it all.
        case overwrite
        case remove
    }

    private(set) var times: [Operation: Duration] = [:]

    init(
        _ contender: DiskContender, entries: DiskEntries, digests: [UInt64], threadCount: Int,
        fileSystem: BenchmarkFileSystem
    ) throws {
        let clock = ContinuousClock()
        try fileSystem.withDirectory { parent in
            let directory = parent + "/store"
            let store = try contender.open(directory)
            for (operation, generation) in [(Operation.set, 0), (.overwrite, 1)] {
                let readBack = try ReadBack(contender, directory: directory, entries: entries)
                times[operation] = try clock.measure {
                    try Self.onThreads(threadCount, of: entries.count, store) { session, places in
                        try session.set(places, of: entries, generation: generation)
                    }
                    store.waitUntilWritten()
                    guard try readBack.run() == digests[generation] else {
                        throw WrongResult(description: "\(contender): another process reads other bytes")
                    }
                }
                if operation == .set { try measureLookUps(contender, store, entries, threadCount: threadCount) }
            }
            times[.remove] = try clock.measure {
                try Self.onThreads(threadCount, of: entries.count, store) { session, places in
                    try session.remove(places, of: entries)
                }
                store.waitUntilWritten()
            }
            guard try store.session().get(entries.keys[0], byteCount: entries.byteCount(of: 0), { _ in }) == nil else {
                throw WrongResult(description: "\(contender): a removed entry is there")
            }
        }
        // The next contender does not pay for the writes of this one.
        sync()
    }

    private mutating func measureLookUps(
        _ contender: DiskContender, _ store: any DiskStore, _ entries: DiskEntries, threadCount: Int
    ) throws {
        let clock = ContinuousClock()
        // Once without a clock: connections, caches and descriptors are opened by then.
        for isTimed in [false, true] {
            let time = try clock.measure {
                try Self.onThreads(threadCount, of: entries.count, store) { session, places in
                    for place in places {
                        let place = entries.shuffledPlaces[place]
                        let isRight = try session.get(entries.keys[place], byteCount: entries.byteCount(of: place)) {
                            entries.accepts($0, as: place)
                        }
                        guard isRight == true else { throw WrongResult(description: "\(contender): a wrong value") }
                    }
                }
            }
            if isTimed { times[.get] = time }
        }
        times[.miss] = try clock.measure {
            try Self.onThreads(threadCount, of: entries.count, store) { session, places in
                for place in places {
                    let key = entries.absentKeys[entries.shuffledPlaces[place]]
                    guard try session.get(key, byteCount: 0, { _ in }) == nil else {
                        throw WrongResult(description: "\(contender): a ghost")
                    }
                }
            }
        }
        if let ours = store as? OurStore {
            times[.asyncGet] = try clock.measure { try Self.getAsynchronously(ours, entries, taskCount: threadCount) }
        }
    }

    private static func getAsynchronously(_ store: OurStore, _ entries: DiskEntries, taskCount: Int) throws {
        let done = DispatchSemaphore(value: 0)
        let wrongCount = LockBox(0)
        for places in parts(of: entries.count, taskCount) {
            Task.detached {
                for place in places {
                    let place = entries.shuffledPlaces[place]
                    let data = await store.cache.data(for: entries.keys[place])
                    if data?.withUnsafeBytes({ entries.accepts($0, as: place) }) != true {
                        wrongCount.withLock { $0 += 1 }
                    }
                }
                done.signal()
            }
        }
        for _ in 0..<taskCount { done.wait() }
        guard wrongCount.withLock({ $0 }) == 0 else { throw WrongResult(description: "a wrong value, async") }
    }

    private static func parts(of count: Int, _ threadCount: Int) -> [Range<Int>] {
        (0..<threadCount).map { count * $0 / threadCount..<count * ($0 + 1) / threadCount }
    }

    /// Each thread does its part, with a session of its own.
    private static func onThreads(
        _ threadCount: Int, of count: Int, _ store: any DiskStore,
        _ body: @Sendable (any DiskSession, Range<Int>) throws -> Void
    ) throws {
        let parts = parts(of: count, threadCount)
        let failure = LockBox<(any Error)?>(nil)
        DispatchQueue.concurrentPerform(iterations: threadCount) { thread in
            do {
                try body(try store.session(), parts[thread])
            } catch {
                failure.withLock { $0 = error }
            }
        }
        if let failure = failure.withLock({ $0 }) { throw failure }
    }
}
