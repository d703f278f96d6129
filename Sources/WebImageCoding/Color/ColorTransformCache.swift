internal import WebImageCore

/// The transforms used last, by what they start from: most pictures of a site share a profile, and setting one up takes
/// lcms2 milliseconds.
///
/// It is bounded in number and in bytes, profiles included. A profile of which nothing can be made is remembered as well.
final class ColorTransformCache: Sendable {
    static let shared = ColorTransformCache()

    private let state: Lock<State>
    private let countLimit: Int
    private let byteLimit: Int

    fileprivate struct Key: Hashable {
        let encoding: ColorEncoding
        let model: ColorModel
    }

    fileprivate struct Entry {
        let transform: (any ColorTransform)?
        let cost: Int
        /// The higher, the later it was used.
        var lastUse: Int
    }

    fileprivate struct State {
        var entries: [Key: Entry] = [:]
        var cost = 0
        var useCount = 0
    }

    init(countLimit: Int = 16, byteLimit: Int = 16 << 20) {
        self.countLimit = countLimit
        self.byteLimit = byteLimit
        state = Lock(State())
    }

    /// How many it holds.
    var count: Int { state.withLock { $0.entries.count } }

    /// Whether it knows what to do with pictures of `model` from `encoding`; asking does not count as use.
    func holds(_ encoding: ColorEncoding, model: ColorModel = .rgb) -> Bool {
        state.withLock { $0.entries[Key(encoding: encoding, model: model)] != nil }
    }

    /// The transform from `encoding` for pictures of `model`; `nil` where pixels are to stay as they are.
    ///
    /// Two threads that ask for a new one at the same moment may both make it; nobody waits for another.
    func transform(from encoding: ColorEncoding, model: ColorModel) -> (any ColorTransform)? {
        let key = Key(encoding: encoding, model: model)
        let known = state.withLock { $0.use(key) }
        if let known { return known.transform }
        let transform = encoding.makeTransform(model: model)
        let cost = encoding.byteCount + (transform?.byteCount ?? 0)
        return state.withLock { state in
            state.insert(transform, cost: cost, for: key)
            state.trim(countLimit: countLimit, byteLimit: byteLimit)
            return transform
        }
    }
}

extension ColorTransformCache.State {
    mutating func use(_ key: ColorTransformCache.Key) -> ColorTransformCache.Entry? {
        guard let index = entries.index(forKey: key) else { return nil }
        useCount += 1
        entries.values[index].lastUse = useCount
        return entries.values[index]
    }

    mutating func insert(_ transform: (any ColorTransform)?, cost: Int, for key: ColorTransformCache.Key) {
        useCount += 1
        let entry = ColorTransformCache.Entry(transform: transform, cost: cost, lastUse: useCount)
        self.cost += cost - (entries.updateValue(entry, forKey: key)?.cost ?? 0)
    }

    mutating func trim(countLimit: Int, byteLimit: Int) {
        while entries.count > countLimit || cost > byteLimit,
            let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })
        {
            cost -= oldest.value.cost
            entries[oldest.key] = nil
        }
    }
}
