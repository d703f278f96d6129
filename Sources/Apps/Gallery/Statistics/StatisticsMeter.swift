import FoundationEssentials
import GTKObjects
import WebImageGTK

/// Takes the figures for the page of statistics, as long as something happens.
///
///     load ends ─► tick ─ 0.5 s ─► tick ─ 0.5 s ─► tick: nothing in progress, nothing new ─► stops until a load ends
@MainActor final class StatisticsMeter {
    private(set) var statistics = LoadStatistics([])
    /// The work in progress, oldest first.
    private(set) var queues: [QueueSample] = []
    private(set) var sizes = TierSizes()
    /// Called when any of them has changed.
    var onChange: () -> Void = {}

    private let session: GallerySession
    private var isRunning = false
    private var next: MainLoopCall?
    private var reading: Task<Void, Never>?
    /// Earlier loads do not count.
    private var startDate = Date.distantPast

    nonisolated static let intervalMilliseconds: UInt32 = 500
    /// The samples of work in progress: a minute of them.
    static let queueLimit = 120

    init(session: GallerySession) {
        self.session = session
        session.loads.observe { [weak self] in self?.wake() }
    }

    /// Whether a tick will come, for tests.
    var isTicking: Bool { next != nil }

    /// Starts taking figures, and takes the first ones now.
    func start() {
        isRunning = true
        tick()
    }

    func stop() {
        isRunning = false
        next = nil
        reading?.cancel()
        reading = nil
    }

    /// Forgets all loads so far.
    func reset() {
        startDate = Date()
        queues = []
        update()
        onChange()
    }

    /// Continues after a pause without loads.
    private func wake() { if isRunning, next == nil { tick() } }

    private func tick() {
        next = nil
        let hasChanged = update()
        let queue = currentQueue
        // One sample without work closes the curve.
        let isAwake = hasChanged || !queue.isIdle || queues.last?.isIdle == false
        if isAwake {
            queues.append(queue)
            queues.removeFirst(max(0, queues.count - Self.queueLimit))
        }
        readSizes()
        if isAwake {
            onChange()
            next = .after(milliseconds: Self.intervalMilliseconds) { [weak self] in self?.tick() }
        }
    }

    private var currentQueue: QueueSample {
        let counters = session.manager.counters
        return QueueSample(
            loads: counters.running, decoding: counters.decodingQueueDepth, transfers: NetworkActivity.shared.count)
    }

    /// Returns whether the figures of the loads have changed.
    @discardableResult private func update() -> Bool {
        let new = LoadStatistics(session.loads.samples.filter { $0.date >= startDate })
        defer { statistics = new }
        return new != statistics
    }

    private func readSizes() {
        guard reading == nil else { return }
        reading = Task { [weak self, cache = session.cache] in
            var sizes = TierSizes(memory: cache.memory.totalCost, memoryLimit: cache.memory.costLimit)
            sizes.disk = await cache.disk?.totalSize ?? 0
            sizes.diskLimit = cache.disk?.sizeLimit
            sizes.pixelLimit = sizes.diskLimit.map { min($0, 1 << 30) }
            sizes.pixels = await cache.pixelStatistics()?.byteCount ?? 0
            guard !Task.isCancelled, let self else { return }
            reading = nil
            guard sizes != self.sizes else { return }
            self.sizes = sizes
            onChange()
        }
    }
}
