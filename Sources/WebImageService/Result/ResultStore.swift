internal import FoundationEssentials
internal import WebImageCaching
internal import WebImageCore
internal import WebImageShared

/// Results by order: in memory, on disk, in a store that machines share. What is nowhere is made, once for all that wait for it.
///
///     memory ─► job ─► disk ─► a place ─► shared store ─┬─ found
///                                                       └─ reserved ─► made ─► stored in all
final class ResultStore: Sendable {
    typealias Outcome = Result<StoredResult, Refusal>
    typealias Maker = @Sendable (Order) async -> Outcome

    /// Where a result came from.
    enum Origin: String, Sendable {
        case memory, disk, shared, made, joined
    }

    private let memory: MemoryCache<Order.Key, StoredResult>
    private let disk: DiskCache?
    private let shared: SharedImageCache?
    private let jobs = JobTable<Order.Key, Answer, NoNews>()
    let places: WorkPlaces
    private let make: Maker
    private let now: @Sendable () -> Date
    /// What a result depends on in the configuration of the service.
    private let settings: @Sendable (Order.Key) -> String

    /// What a job ends with.
    struct Answer: Sendable {
        let outcome: Outcome
        let origin: Origin
    }

    init(
        memory: MemoryCache<Order.Key, StoredResult>, disk: DiskCache?, shared: SharedImageCache?, places: WorkPlaces,
        now: @escaping @Sendable () -> Date, settings: @escaping @Sendable (Order.Key) -> String, make: @escaping Maker
    ) {
        (self.memory, self.disk, self.shared, self.places) = (memory, disk, shared, places)
        (self.now, self.settings, self.make) = (now, settings, make)
    }

    /// The number of results that are looked up or made.
    var jobCount: Int { jobs.count }

    /// Returns what memory has, without waiting.
    func inMemory(_ key: Order.Key) -> StoredResult? {
        memory.value(for: key).flatMap { $0.isFresh(at: now()) ? $0 : nil }
    }

    /// Returns the result of an order. When the task is cancelled it leaves the work, which stops if nobody else waits for it.
    ///
    /// - Parameter time: how long to wait.
    func answer(to order: Order, within time: Duration) async -> Answer {
        if let result = inMemory(order.key) { return Answer(outcome: .success(result), origin: .memory) }
        let hasStarted = LockBox(false)
        let clock = SystemTimerClock.shared
        let result: Result<Answer, WebImageError> = await DeferredTask.result { [self] finish in
            let subscription = DeferredTask()
            let timer = clock.schedule(at: clock.now + time) {
                finish(.success(Answer(outcome: .failure(.timedOut), origin: .made)))
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
        guard case .success(let answer) = result else { return Answer(outcome: .failure(.abandoned), origin: .made) }
        let isFirst = hasStarted.withLock { $0 }
        return isFirst ? answer : Answer(outcome: answer.outcome, origin: .joined)
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
        // Another job may have ended between the look into memory and this one.
        if let result = inMemory(order.key) { return Answer(outcome: .success(result), origin: .memory) }
        let name = ImageCacheKey(source: order.key.text(settings: settings(order.key)))
        if let item = await disk?.item(for: name.description),
            let result = StoredResult(item.data, head: item.entry.extendedData), result.isFresh(at: now())
        {
            keepInMemory(result, order.key)
            return Answer(outcome: .success(result), origin: .disk)
        }
        do throws(Refusal) {
            // A machine that promises a result has a place for it, so that others do not wait for a queue.
            let answer = try await places.run { await foundOrMade(order, name) }
            return answer ?? Answer(outcome: .failure(.abandoned), origin: .made)
        } catch {
            return Answer(outcome: .failure(error), origin: .made)
        }
    }

    /// In a place.
    private func foundOrMade(_ order: Order, _ name: ImageCacheKey) async -> Answer {
        var lease: ValueLease?
        switch await shared?.reserve(name, patience: .seconds(5)) {
        case .found(let stored):
            guard let result = StoredResult(stored.data, head: stored.attributes.extendedData),
                result.isFresh(at: now())
            else { break }
            keepInMemory(result, order.key)
            storeOnDisk(result, name)
            return Answer(outcome: .success(result), origin: .shared)
        case .reserved(let reserved): lease = reserved
        case .unavailable, nil: break
        }
        let outcome = await make(order)
        var isStored = false
        if case .success(let result) = outcome, result.head.isStorable, result.isFresh(at: now()) {
            keepInMemory(result, order.key)
            storeOnDisk(result, name)
            if let shared {
                await shared.store(nil, data: result.data, for: name, in: .disk, attributes: attributes(of: result))
                isStored = true
            }
        }
        lease?.end(hasStored: isStored)
        return Answer(outcome: outcome, origin: .made)
    }

    private func keepInMemory(_ result: StoredResult, _ key: Order.Key) {
        memory.set(result, for: key, cost: result.data.count + 1024)
    }

    private func storeOnDisk(_ result: StoredResult, _ name: ImageCacheKey) {
        disk?.store(result.data, for: name.description, attributes: attributes(of: result))
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
