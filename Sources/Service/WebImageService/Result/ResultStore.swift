internal import FoundationEssentials
internal import WebImageCaching
internal import WebImageCore
internal import WebImageShared

/// Results by order: in memory, on disk, in a store that machines share. What is nowhere is made, once for all that wait for it.
///
///     memory ─► job ─► disk ─┬─► a place ─► shared store ─┬─ found
///                            │       ▲                    └─ reserved ─► made ─► stored in all
///                            └─ none free ─► shared store ─► found
final class ResultStore: Sendable {
    typealias Outcome = Result<StoredResult, Refusal>
    typealias Maker = @Sendable (Order, StageTimes) async -> Outcome
    typealias Measurer = @Sendable (_ stage: ImageService.Stage, _ time: Duration) -> Void

    /// Where a result came from.
    enum Origin: String, Sendable {
        case memory, disk, shared
        /// It was made, and in place of one that was no longer fresh.
        case made, renewed
        /// Another request had it made, and renewed.
        case joined, joinedRenewal

        /// For a request that has only waited.
        var ofOthers: Origin {
            switch self {
            case .made: .joined
            case .renewed: .joinedRenewal
            case .memory, .disk, .shared, .joined, .joinedRenewal: self
            }
        }
    }

    private let memory: MemoryCache<Order.Key, StoredResult>
    private let disk: DiskCache?
    private let shared: SharedImageCache?
    private let jobs = JobTable<Order.Key, Answer, NoNews>()
    let places: WorkPlaces
    /// For looks into the shared store without a place for work.
    private let lookUps: WorkPlaces
    private let work: WorkInProgress
    private let make: Maker
    private let didMeasure: Measurer?
    private let now: @Sendable () -> Date
    /// Returns the parts of the service's configuration that a result depends on, as text.
    private let settings: @Sendable (Order.Key) -> String

    /// The result of a job.
    struct Answer: Sendable {
        let outcome: Outcome
        let origin: Origin

        init(_ outcome: Outcome, _ origin: Origin = .made) { (self.outcome, self.origin) = (outcome, origin) }
    }

    /// Results of this length are read from the disk while they are sent, and not kept in memory.
    private static let streamedByteCount = 1 << 20

    init(
        memory: MemoryCache<Order.Key, StoredResult>, disk: DiskCache?, shared: SharedImageCache?, places: WorkPlaces,
        lookUps: WorkPlaces, work: WorkInProgress, now: @escaping @Sendable () -> Date, didMeasure: Measurer?,
        settings: @escaping @Sendable (Order.Key) -> String, make: @escaping Maker
    ) {
        (self.memory, self.disk, self.shared, self.places, self.lookUps) = (memory, disk, shared, places, lookUps)
        (self.work, self.now, self.didMeasure, self.settings, self.make) = (work, now, didMeasure, settings, make)
    }

    /// Returns what memory has, without waiting.
    func inMemory(_ key: Order.Key) -> StoredResult? {
        memory.value(for: key).flatMap { $0.isFresh(at: now()) ? $0 : nil }
    }

    /// Returns the result of an order. When the task is cancelled it leaves the work, which stops if nothing else waits for it.
    func answer(to order: Order, until end: ContinuousClock.Instant) async -> Answer {
        if let result = inMemory(order.key) { return Answer(.success(result), .memory) }
        let hasStarted = LockBox(false)
        let clock = SystemTimerClock.shared
        let result: Result<Answer, WebImageError> = await DeferredTask.result { [self] finish in
            let subscription = DeferredTask()
            let timer = clock.schedule(at: clock.now + ContinuousClock.now.duration(to: end)) {
                finish(.success(Answer(.failure(.timedOut))))
                subscription.cancel()
            }
            let joined = jobs.join(
                order.key, priority: .normal,
                handler: { event in
                    guard case .finished(let result) = event else { return }
                    timer.cancel()
                    finish(result)
                },
                start: { job in
                    hasStarted.withLock { $0 = true }
                    job.run { _ in TaskStep { job.finish(.success(await self.find(order))) } }
                })
            if let joined { subscription.attach(joined) }
            return LeavingTask(subscription: subscription, timer: timer)
        }
        guard case .success(let answer) = result else { return Answer(.failure(.abandoned)) }
        return hasStarted.withLock { $0 } ? answer : Answer(answer.outcome, answer.origin.ofOthers)
    }

    /// Leaves a job.
    private struct LeavingTask: LoaderTask {
        let subscription: DeferredTask
        let timer: ScheduledCall

        func cancel() {
            timer.cancel()
            subscription.cancel()
        }
    }

    // MARK: The work of a job

    private func find(_ order: Order) async -> Answer {
        do throws(Refusal) {
            try work.beginWork()
        } catch {
            return Answer(.failure(error))
        }
        defer { work.end() }
        // Another job may have ended between the look into memory and this one.
        if let result = inMemory(order.key) { return Answer(.success(result), .memory) }
        let name = ImageCacheKey(source: order.key.text(settings: settings(order.key)))
        let stored = await onDisk(name)
        if let stored, stored.isFresh(at: now()) {
            keepInMemory(stored, order.key)
            return Answer(.success(stored), .disk)
        }
        let stale = stored ?? memory.value(for: order.key)
        do throws(Refusal) {
            if places.isBusy, let result = try await inSharedStore(order.key, name) {
                return Answer(.success(result), .shared)
            }
            // A machine that promises a result has a place for it, so that others do not wait for a queue.
            let (times, arrival) = (StageTimes(), ContinuousClock.now)
            let answer = try await places.run {
                times.add(.queue, since: arrival)
                return await foundOrMade(order, name, replacing: stale, times)
            }
            return answer ?? Answer(.failure(.abandoned))
        } catch {
            return Answer(.failure(error))
        }
    }

    /// In a place.
    ///
    /// - Parameter stale: a result that has expired.
    private func foundOrMade(
        _ order: Order, _ name: ImageCacheKey, replacing stale: StoredResult?, _ times: StageTimes
    ) async -> Answer {
        var lease: ValueLease?
        switch await shared?.reserve(name, patience: .seconds(5)) {
        case .found(let stored):
            if let result = await kept(stored, order.key, name) { return Answer(.success(result), .shared) }
        case .reserved(let reserved): lease = reserved
        case .unavailable, nil: break
        }
        var outcome = await make(order, times)
        if let didMeasure { times.forEach(didMeasure) }
        if case .success(let result) = outcome, let stale, stale.head.tag == result.head.tag {
            outcome = .success(StoredResult(result, madeAt: stale.head.modified))
        }
        var isStored = false
        if case .success(let result) = outcome, result.head.isStorable, result.isFresh(at: now()),
            let data = result.body.data
        {
            // Others wait for it.
            if let shared {
                await shared.store(nil, data: data, for: name, in: .disk, attributes: attributes(of: result))
                isStored = true
            }
            outcome = .success(await kept(result, data, order.key, name))
        }
        lease?.end(hasStored: isStored)
        return Answer(outcome, stale == nil ? .made : .renewed)
    }

    /// Looks a result up without a place for work, so that a machine with a lot of work still has what others have made.
    private func inSharedStore(_ key: Order.Key, _ name: ImageCacheKey) async throws(Refusal) -> StoredResult? {
        guard let shared else { return nil }
        guard let stored = try await lookUps.run({ await shared.data(for: name, in: .disk) }) ?? nil else { return nil }
        return await kept(stored, key, name)
    }

    private func onDisk(_ name: ImageCacheKey) async -> StoredResult? {
        switch await disk?.openItem(for: name.description, atLeast: Self.streamedByteCount) {
        case .data(let data, let entry): StoredResult(ServiceAnswer.Body(data), head: entry.extendedData)
        case .file(let file, let entry): StoredResult(ServiceAnswer.Body(file), head: entry.extendedData)
        case nil: nil
        }
    }

    /// Returns what the shared store has, if it may be used.
    private func kept(
        _ stored: ImageCacheResult, _ key: Order.Key, _ name: ImageCacheKey
    ) async -> StoredResult? {
        guard let data = stored.data,
            let result = StoredResult(ServiceAnswer.Body(data), head: stored.attributes.extendedData),
            result.isFresh(at: now())
        else { return nil }
        return await kept(result, data, key, name)
    }

    /// Stores a result on this machine. A long one is then on disk only, if there is one.
    private func kept(
        _ result: StoredResult, _ data: Data, _ key: Order.Key, _ name: ImageCacheKey
    ) async -> StoredResult {
        let attributes = attributes(of: result)
        guard let disk, data.count >= Self.streamedByteCount else {
            keepInMemory(result, key)
            disk?.store(data, for: name.description, attributes: attributes)
            return result
        }
        let (clock, written) = (SystemTimerClock.shared, Waiter<Void>())
        // The disk may be slow, or another process may hold the index.
        let timer = clock.schedule(at: clock.now + .seconds(1)) { written.resume(()) }
        disk.store(data, for: name.description, attributes: attributes) { written.resume(()) }
        await written.value
        timer.cancel()
        if let streamed = await onDisk(name), streamed.body.data == nil, streamed.head == result.head {
            return streamed
        }
        keepInMemory(result, key)
        return result
    }

    private func keepInMemory(_ result: StoredResult, _ key: Order.Key) {
        // Open files are not kept: there are too few descriptors.
        if result.body.data != nil { memory.set(result, for: key, cost: result.body.count + 1024) }
    }

    private func attributes(of result: StoredResult) -> DiskCache.Attributes {
        DiskCache.Attributes(
            expiration: .date(Date(timeIntervalSince1970: result.head.expires)), extendedData: result.encodedHead)
    }

    /// Waits until everything is written.
    func flush() async {
        await disk?.flush()
        await shared?.flush()
    }
}
