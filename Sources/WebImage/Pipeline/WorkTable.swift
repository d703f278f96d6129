import WebImageCore

/// The live work of one stage, by key: who asks for what is under way already joins it.
final class WorkTable<Key: Hashable & Sendable, Output: Sendable>: Sendable {
    private let works = Lock<[Key: SharedWork<Output>]>([:])

    /// How many pieces of work are under way.
    var count: Int { works.withLock { $0.count } }

    /// Joins the work for `key`, or starts it.
    ///
    /// - Parameters:
    ///   - wantsResult: see ``SharedWork/subscribe(priority:wantsResult:objection:handler:)``, as for `objection`.
    ///   - trace: includes what the work notes.
    ///   - handler: gets the work's events; see ``SharedWork``. It may be called before this function returns.
    ///   - start: begins work that nobody has begun yet.
    func join(
        _ key: Key, priority: LoadPriority, wantsResult: Bool = true, trace: TraceRecorder? = nil,
        objection: SharedWork<Output>.Objection? = nil, handler: @escaping SharedWork<Output>.Handler,
        start: (SharedWork<Output>) -> Void
    ) -> Subscription<Output>? {
        func subscribe(to work: SharedWork<Output>) -> Subscription<Output>? {
            work.subscribe(priority: priority, wantsResult: wantsResult, objection: objection, handler: handler)
        }
        func join(_ place: inout SharedWork<Output>?) -> (SharedWork<Output>, Subscription<Output>?, isNew: Bool) {
            if let work = place, let subscription = subscribe(to: work) { return (work, subscription, false) }
            // Not there, or over and about to be taken out: the new work takes the place.
            let work = SharedWork<Output> { [weak self] work in self?.remove(work, for: key) }
            place = work
            return (work, subscribe(to: work), true)
        }
        let (work, subscription, isNew) = works.withLock { join(&$0[key]) }
        trace?.include(work.trace)
        if isNew {
            start(work)
        } else if let subscription {
            work.welcome(subscription.id)
        }
        return subscription
    }

    private func remove(_ work: SharedWork<Output>, for key: Key) {
        works.withLock { works in
            if let index = works.index(forKey: key), works.values[index] === work { works.remove(at: index) }
        }
    }
}
