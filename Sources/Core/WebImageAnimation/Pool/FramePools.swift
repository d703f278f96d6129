internal import WebImageCoding
package import WebImageCore
package import WebImageProcessing

/// The decoded frames of all animations, and their memory limit.
///
/// Visible animations share the limit: each gets what all its frames take, or an equal share of what the smaller ones
/// leave. Invisible ones keep what is left over.
package final class FramePools: Sendable {
    /// The frames of all players.
    package static let shared = FramePools()

    /// Runs a closure on another thread.
    package typealias Submit = @Sendable (LoadPriority, @escaping @Sendable () -> Void) -> Void

    /// The properties that two players must have in common to share a pool.
    private struct Key: Hashable {
        let identity: AnimationIdentity
        let frameSize: PixelSize
        let processor: String?
    }

    /// Used under the lock.
    private final class Entry {
        let key: Key
        let number: Int
        weak var pool: FramePool?
        var needed = 0
        var isActive = false
        var allowance = 0

        init(key: Key, number: Int, pool: FramePool) {
            self.key = key
            self.number = number
            self.pool = pool
        }
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        var numbers: [Key: Int] = [:]
        var lastNumber = 0
        var byteLimit: Int?
        var poolByteLimit: Int
        var measuredLimit: Int
        /// In nanoseconds.
        var measureTime: Int64?
        var observation: MemoryPressureObservation?
        var isObserving = false
        var gate = PressureGate()

        var limit: Int { byteLimit ?? measuredLimit }
    }

    private let state: Lock<State>
    private let pressureSource: MemoryPressureSource?
    let submit: Submit

    /// Makes pools with their own limit.
    ///
    /// - Parameter pressureSource: reports memory pressure, under which frames that are not shown are released.
    package convenience init(
        byteLimit: Int? = nil, poolByteLimit: Int = .max,
        pressureSource: MemoryPressureSource? = .system
    ) {
        self.init(byteLimit: byteLimit, poolByteLimit: poolByteLimit, pressureSource: pressureSource) {
            DecodingQueue.shared.submit(priority: $0, $1)
        }
    }

    /// - Parameter submit: runs decoding.
    package init(
        byteLimit: Int?, poolByteLimit: Int = .max, pressureSource: MemoryPressureSource?,
        submit: @escaping Submit
    ) {
        self.pressureSource = pressureSource
        self.submit = submit
        state = Lock(
            State(byteLimit: byteLimit, poolByteLimit: poolByteLimit, measuredLimit: Self.provisionalByteLimit))
    }

    /// See ``AnimationPlayer/frameByteLimit``.
    package var byteLimit: Int? {
        get { state.withLock { $0.byteLimit } }
        set {
            state.withLock { $0.byteLimit = newValue }
            share()
        }
    }

    /// See ``AnimationPlayer/animationByteLimit``.
    var poolByteLimit: Int {
        get { state.withLock { $0.poolByteLimit } }
        set {
            state.withLock { $0.poolByteLimit = newValue }
            share()
        }
    }

    /// Returns the default limit; see ``byteLimit``. The limit of a control group counts. Reads a few files of the
    /// kernel.
    ///
    /// - Parameters:
    ///   - byteCount: the memory used by the pools themselves.
    ///   - physicalBytes: the memory of the machine.
    ///   - fileSystemRoot: a prefix of the kernel's files.
    static func defaultByteLimit(
        besides byteCount: Int = 0, physicalBytes: Int = AvailableMemory.physicalBytes, fileSystemRoot: String = ""
    ) -> Int {
        let total = AvailableMemory.totalBytes(physicalBytes: physicalBytes, fileSystemRoot: fileSystemRoot)
        let free = AvailableMemory.freeBytes(physicalBytes: physicalBytes, fileSystemRoot: fileSystemRoot)
        return max(10 << 20, min(total / 5, Int(Double(free + byteCount) * 0.6)))
    }

    /// Until it is measured.
    private static let provisionalByteLimit = 64 << 20
    private static let measureInterval: Int64 = 10_000_000_000

    /// The memory of all frames and canvases, in bytes.
    package var byteCount: Int { pools.reduce(0) { $0 + $1.byteCount } }

    /// Returns the pool of a source at a size. It is kept by its players.
    ///
    /// - Parameters:
    ///   - thumbnail: the size of the frames; `nil` for full size. Frames are never enlarged.
    ///   - processor: processes each frame.
    ///   - scale: pixels per point, for the processor.
    package func pool(
        for source: any AnimationSource, thumbnail: Thumbnail? = nil, processor: ImageProcessor? = nil,
        scale: Double = 1
    ) -> FramePool {
        let size = thumbnail?.targetSize(of: source.frameSize) ?? source.frameSize
        let key = Key(
            identity: source.identity, frameSize: size, processor: processor.map { "\($0.identifier)@\(scale)" })
        let pool = pool(key) { number in
            FramePool(
                source, frameSize: size, processor: processor, scale: scale, number: number, group: self)
        }
        pool.extend(to: source)
        observePressure()
        measureIfDue()
        setNeeded(pool.neededByteCount, pool: pool.number)
        return pool
    }

    /// Returns the pool of a key, or a new one. Calls the source and locks pools outside its lock.
    private func pool(_ key: Key, orMake make: (Int) -> FramePool) -> FramePool {
        let (known, number): (FramePool?, Int) = state.withLock { state in
            state.lastNumber += 1
            return (state.numbers[key].flatMap { state.entries[$0]?.pool }, state.lastNumber)
        }
        if let known { return known }
        let made = make(number)
        return state.withLock { state in
            // Another thread may have been faster.
            if let number = state.numbers[key], let pool = state.entries[number]?.pool { return pool }
            state.entries[number] = Entry(key: key, number: number, pool: made)
            state.numbers[key] = number
            return made
        }
    }

    /// Releases all frames that are not shown, as under memory pressure.
    package func removeAll() { for pool in pools { pool.removeAll() } }

    private var pools: [FramePool] { state.withLock { $0.entries.values.compactMap(\.pool) } }
}

// MARK: Shares

extension FramePools {
    /// The size that the frames of a pool may have now, in bytes.
    func allowance(ofPool number: Int) -> Int { state.withLock { $0.entries[number]?.allowance ?? 0 } }

    func setActive(_ isActive: Bool, pool number: Int) {
        state.withLock { $0.entries[number]?.isActive = isActive }
        share()
    }

    /// - Parameter byteCount: only grows; a smaller number is outdated.
    func setNeeded(_ byteCount: Int, pool number: Int) {
        state.withLock { state in
            guard let entry = state.entries[number] else { return }
            entry.needed = max(entry.needed, byteCount)
        }
        share()
    }

    func forget(_ number: Int) {
        state.withLock { state in
            guard let entry = state.entries.removeValue(forKey: number) else { return }
            // Another pool may have replaced it.
            if state.numbers[entry.key] == number { state.numbers[entry.key] = nil }
        }
        observePressure()
        share()
    }

    /// Distributes the limit and trims the pools whose allowance changed.
    private func share() {
        let changed: [FramePool] = state.withLock { state in
            var rest = max(0, state.limit)
            var changed: [FramePool] = []
            let entries = state.entries.values.sorted { ($0.needed, $0.number) < ($1.needed, $1.number) }
            for isActive in [true, false] {
                var count = entries.count { $0.isActive == isActive }
                for entry in entries where entry.isActive == isActive {
                    let allowance = min(entry.needed, rest / count, state.poolByteLimit)
                    rest -= allowance
                    count -= 1
                    guard allowance != entry.allowance else { continue }
                    entry.allowance = allowance
                    if let pool = entry.pool { changed.append(pool) }
                }
            }
            return changed
        }
        for pool in changed { pool.trim() }
    }

    private func measureIfDue() {
        let now = BootTime.now.nanoseconds
        let isDue = state.withLock { state in
            guard state.byteLimit == nil, state.measureTime.map({ now - $0 >= Self.measureInterval }) ?? true else {
                return false
            }
            state.measureTime = now
            return true
        }
        guard isDue else { return }
        submit(.normal) { [weak self] in
            guard let self else { return }
            let limit = Self.defaultByteLimit(besides: byteCount)
            state.withLock { $0.measuredLimit = limit }
            share()
        }
    }
}

// MARK: Pressure

extension FramePools {
    /// Observes memory pressure while there are pools.
    private func observePressure() {
        guard let pressureSource else { return }
        let (begins, ended): (Bool, MemoryPressureObservation?) = state.withLock { state in
            if state.entries.isEmpty {
                defer { state.observation = nil }
                return (false, state.observation)
            }
            guard state.observation == nil, !state.isObserving else { return (false, nil) }
            state.isObserving = true
            return (true, nil)
        }
        ended?.cancel()
        guard begins else { return }
        let observation = pressureSource.observe { [weak self] in self?.respond(to: $0) }
        let isInVain = state.withLock { state in
            state.isObserving = false
            guard !state.entries.isEmpty else { return true }
            state.observation = observation
            return false
        }
        if isInVain { observation.cancel() }
    }

    private func respond(to level: MemoryPressureLevel) {
        let now = BootTime.now.nanoseconds
        guard state.withLock({ $0.gate.admits(level, at: now) }) else { return }
        for pool in pools { pool.respond(to: level) }
        PixelBufferPool.shared.removeAll()
    }
}
