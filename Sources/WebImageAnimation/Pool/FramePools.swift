internal import WebImageCoding
public import WebImageCore

/// The frame pools of a process, and the memory they share.
///
/// Players find their pool here. Pools of which a frame can be seen share the limit: each gets what all its frames take, or
/// an equal share of what the smaller ones leave. Others keep what is left over.
public final class FramePools: Sendable {
    /// The pools every player uses unless told otherwise.
    public static let shared = FramePools()

    /// Runs a closure on another thread.
    package typealias Submit = @Sendable (LoadPriority, @escaping @Sendable () -> Void) -> Void

    /// What makes two players share a pool.
    private struct Key: Hashable {
        let identity: AnimationIdentity
        let frameSize: PixelSize
        let processor: String?
    }

    private struct Entry {
        let key: Key
        weak var pool: FramePool?
        var needed: Int
        var isActive = false
        var allowance = 0
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        var numbers: [Key: Int] = [:]
        var lastNumber = 0
        var byteLimit: Int?
        var poolByteLimit: Int
        var measuredLimit: Int
        /// When it was measured, in nanoseconds.
        var measureTime: Int64?
        var observation: MemoryPressureObservation?
        var isObserving = false
        var gate = PressureGate()

        var limit: Int { byteLimit ?? measuredLimit }
    }

    private let state: Lock<State>
    private let pressureSource: (any MemoryPressureSource)?
    let submit: Submit

    /// Makes pools that share nothing with others.
    ///
    /// - Parameters:
    ///   - byteLimit: see ``byteLimit``.
    ///   - poolByteLimit: see ``poolByteLimit``.
    ///   - pressureSource: where to hear that memory is short; `nil` for nowhere.
    public convenience init(
        byteLimit: Int? = nil, poolByteLimit: Int = .max,
        pressureSource: (any MemoryPressureSource)? = SystemMemoryPressure()
    ) {
        self.init(byteLimit: byteLimit, poolByteLimit: poolByteLimit, pressureSource: pressureSource) {
            DecodingQueue.shared.submit(priority: $0, $1)
        }
    }

    /// - Parameter submit: where frames are decoded; a test does it itself.
    package init(
        byteLimit: Int?, poolByteLimit: Int = .max, pressureSource: (any MemoryPressureSource)?,
        submit: @escaping Submit
    ) {
        self.pressureSource = pressureSource
        self.submit = submit
        state = Lock(
            State(byteLimit: byteLimit, poolByteLimit: poolByteLimit, measuredLimit: Self.provisionalByteLimit))
    }

    /// The most that the frames of all pools take, in bytes, besides two frames for each pool that plays. `nil`, the
    /// default, is ``defaultByteLimit()``, looked at again every ten seconds at most, when an animation begins.
    public var byteLimit: Int? {
        get { state.withLock { $0.byteLimit } }
        set {
            state.withLock { $0.byteLimit = newValue }
            share()
        }
    }

    /// The most that the frames of one pool take, in bytes, or two frames if that is more. No limit of its own by default.
    public var poolByteLimit: Int {
        get { state.withLock { $0.poolByteLimit } }
        set {
            state.withLock { $0.poolByteLimit = newValue }
            share()
        }
    }

    /// 20 % of the memory available to the process, but no more than 60 % of what is free of it, and at least 10 MiB, in
    /// bytes, as in YYImage. A control group's limit counts (containers have one). Reads a few of the kernel's files.
    public static func defaultByteLimit() -> Int { defaultByteLimit(besides: 0) }

    /// - Parameters:
    ///   - byteCount: what the pools themselves have taken of it.
    ///   - physicalBytes: the machine's memory; a test has another.
    ///   - fileSystemRoot: put in front of the kernel's files, for tests.
    static func defaultByteLimit(
        besides byteCount: Int, physicalBytes: Int = AvailableMemory.physicalBytes, fileSystemRoot: String = ""
    ) -> Int {
        let total = AvailableMemory.totalBytes(physicalBytes: physicalBytes, fileSystemRoot: fileSystemRoot)
        let free = AvailableMemory.freeBytes(physicalBytes: physicalBytes, fileSystemRoot: fileSystemRoot)
        return max(10 << 20, min(total / 5, Int(Double(free + byteCount) * 0.6)))
    }

    /// Until there is time to measure.
    private static let provisionalByteLimit = 64 << 20
    private static let measureInterval: Int64 = 10_000_000_000

    /// The memory all pools take, in bytes: frames and canvases.
    public var byteCount: Int { pools.reduce(0) { $0 + $1.byteCount } }

    /// The pool for the frames of a source at a size; it lives as long as somebody refers to it.
    ///
    /// - Parameters:
    ///   - thumbnail: the size wanted; `nil` for the source's own. Frames are never scaled up.
    ///   - processor: what is done to each frame then.
    public func pool(
        for source: any AnimationSource, thumbnail: Thumbnail? = nil, processor: FrameProcessor? = nil
    ) -> FramePool {
        let size = thumbnail?.targetSize(of: source.frameSize) ?? source.frameSize
        let key = Key(identity: source.identity, frameSize: size, processor: processor?.identifier)
        let pool = pool(key) { number in
            FramePool(source, frameSize: size, processor: processor, number: number, group: self)
        }
        pool.extend(to: source)
        observePressure()
        measureIfDue()
        setNeeded(pool.neededByteCount, pool: pool.number)
        return pool
    }

    /// The pool of a key, or a new one. The source is asked, and a pool's lock taken, outside the lock.
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
            state.entries[number] = Entry(key: key, pool: made, needed: 0)
            state.numbers[key] = number
            return made
        }
    }

    /// Lets all frames go that are not being shown, as on memory pressure.
    public func removeAll() { for pool in pools { pool.removeAll() } }

    private var pools: [FramePool] { state.withLock { $0.entries.values.compactMap(\.pool) } }
}

// MARK: Shares

extension FramePools {
    /// What a pool's frames may take now, in bytes.
    func allowance(ofPool number: Int) -> Int { state.withLock { $0.entries[number]?.allowance ?? 0 } }

    func setActive(_ isActive: Bool, pool number: Int) {
        state.withLock { $0.entries[number]?.isActive = isActive }
        share()
    }

    /// - Parameter byteCount: never gets less; a smaller number has been overtaken on its way.
    func setNeeded(_ byteCount: Int, pool number: Int) {
        state.withLock { state in
            guard let needed = state.entries[number]?.needed else { return }
            state.entries[number]?.needed = max(needed, byteCount)
        }
        share()
    }

    func forget(_ number: Int) {
        state.withLock { state in
            guard let entry = state.entries.removeValue(forKey: number) else { return }
            // Another pool may have taken its place.
            if state.numbers[entry.key] == number { state.numbers[entry.key] = nil }
        }
        observePressure()
        share()
    }

    /// Shares the limit out again, and has those keep to it that got another allowance.
    private func share() {
        let changed: [FramePool] = state.withLock { state in
            let former = state.entries.mapValues(\.allowance)
            var rest = max(0, state.limit)
            for isActive in [true, false] {
                let sharing = state.entries.filter { $0.value.isActive == isActive }
                    .sorted { ($0.value.needed, $0.key) < ($1.value.needed, $1.key) }
                for (index, (number, entry)) in sharing.enumerated() {
                    let allowance = min(entry.needed, rest / (sharing.count - index), state.poolByteLimit)
                    state.entries[number]?.allowance = allowance
                    rest -= allowance
                }
            }
            return state.entries.filter { $0.value.allowance != former[$0.key] }.values.compactMap(\.pool)
        }
        for pool in changed { pool.trim() }
    }

    private func measureIfDue() {
        let now = BootTime.nanoseconds
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
    /// Observes while there are pools.
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
        let now = BootTime.nanoseconds
        guard state.withLock({ $0.gate.admits(level, at: now) }) else { return }
        for pool in pools { pool.respond(to: level) }
        PixelBufferPool.shared.removeAll()
    }
}
