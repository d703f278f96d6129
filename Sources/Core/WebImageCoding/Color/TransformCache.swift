internal import WebImageCore

/// The most recently used transforms: most images of a site share a profile, and lcms2 takes milliseconds to set one up.
///
/// Limited in number and bytes, profiles included. Unusable profiles are cached as well.
final class TransformCache<Transform>: Sendable {
    private struct Key: Hashable {
        let encoding: ColorEncoding
        let model: ColorModel
    }

    private struct Entry {
        let transform: Transform?
        let cost: Int
        var lastUse: Int
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var cost = 0
        var useCount = 0

        mutating func use(_ key: Key) -> Entry? {
            guard let index = entries.index(forKey: key) else { return nil }
            useCount += 1
            entries.values[index].lastUse = useCount
            return entries.values[index]
        }

        mutating func insert(_ transform: Transform?, cost: Int, for key: Key) {
            useCount += 1
            let entry = Entry(transform: transform, cost: cost, lastUse: useCount)
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

    private let state = Lock(State())
    private let countLimit: Int
    private let byteLimit: Int
    private let make: @Sendable (ColorEncoding, ColorModel) -> (transform: Transform?, byteCount: Int)

    /// - Parameter make: makes a transform, and tells the memory of its tables in bytes; `nil` if the pixels stay as they are.
    init(
        countLimit: Int, byteLimit: Int,
        make: @escaping @Sendable (ColorEncoding, ColorModel) -> (transform: Transform?, byteCount: Int)
    ) {
        (self.countLimit, self.byteLimit, self.make) = (countLimit, byteLimit, make)
    }

    var count: Int { state.withLock { $0.entries.count } }

    /// Whether there is an entry; does not count as use.
    func holds(_ encoding: ColorEncoding, model: ColorModel = .rgb) -> Bool {
        state.withLock { $0.entries[Key(encoding: encoding, model: model)] != nil }
    }

    /// Returns the transform from `encoding` for images of `model`; `nil` if the pixels stay as they are. Two threads
    /// that request a new one at the same time may both create it.
    func transform(from encoding: ColorEncoding, model: ColorModel) -> Transform? {
        let key = Key(encoding: encoding, model: model)
        let known = state.withLock { $0.use(key) }
        if let known { return known.transform }
        let (transform, byteCount) = make(encoding, model)
        state.withLock { state in
            state.insert(transform, cost: encoding.byteCount + byteCount, for: key)
            state.trim(countLimit: countLimit, byteLimit: byteLimit)
        }
        return transform
    }
}
