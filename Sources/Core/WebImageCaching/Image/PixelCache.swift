internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import Synchronization
internal import WebImageCoding
internal import WebImageCore

/// Thumbnails and processed images as pixels on disk, which are copied into memory instead of decoded.
///
/// ```
///  directory/              originals: their bytes as they came
///  directory/pixels/       this cache, a ``DiskCache`` of ``PixelFile``s, with a limit and an age of its own
/// ```
///
/// An image is served only while the bytes that it was made from are stored as the original: new bytes, another response
/// by `Vary`, a removal and a 404 invalidate it, whichever process made the change. What HTTP says about the original
/// applies to it, too. Its use counts as one of the original, which therefore is not evicted first.
///
/// Files are read, not mapped: copying 300 KB takes 40 µs, a mapping as long for its page faults, and a file that is
/// truncated or on a failing disk is a miss instead of a signal.
final class PixelCache: Sendable {
    private let disk: DiskCache
    private let originals: DiskCache
    /// Whether the directory exists. Look-ups must not create it.
    private let exists = Atomic(false)
    /// The pixels that wait to be encoded, or to be written: those of some 60 thumbnails. They are encoded while nothing is decoded, so more
    /// would only take memory when it is at its peak.
    private let waiting = ByteBudget(byteLimit: 16 << 20)
    private let state = Lock(State())
    private let isAddedToProgramEnd = Atomic(false)

    private struct State {
        var lastNumber = 0
        /// The last store of each key that is not on disk yet. A removal takes it away, so that stale pixels are not
        /// written.
        var unwritten: [String: Int] = [:]
        /// The stores that a decoding thread is to encode, by number.
        var encodable: [Int: Store] = [:]
        /// The stores for which there was no space, by key.
        var postponed: [String: PostponedStore] = [:]
        private var flushes: [Flush] = []

        var isFlushing: Bool { !flushes.isEmpty }

        /// Returns whether stores have to be written before `completion` is called.
        mutating func addFlush(_ completion: @escaping @Sendable () -> Void) -> Bool {
            guard !unwritten.isEmpty else { return false }
            flushes.append(Flush(lastNumber: lastNumber, remainingCount: unwritten.count, completion: completion))
            return true
        }

        /// Ends the last store of a key, and returns the completions to call.
        ///
        /// - Parameter number: of the store, if a later one is not to be ended.
        mutating func end(_ key: String, number: Int? = nil) -> [@Sendable () -> Void] {
            guard let last = unwritten[key], number == nil || number == last else { return [] }
            unwritten[key] = nil
            postponed[key] = nil
            guard isFlushing else { return [] }
            for index in flushes.indices where last <= flushes[index].lastNumber { flushes[index].remainingCount -= 1 }
            let ended = flushes.filter { $0.remainingCount == 0 }
            flushes.removeAll { $0.remainingCount == 0 }
            return ended.map(\.completion)
        }
    }

    private struct Store {
        let key: String
        let image: Image
        let mark: BytesMark
        let share: ByteBudget.Share
    }

    /// A store that needs the image to be alive elsewhere, usually in memory.
    private struct PostponedStore {
        let image: ValueRevival<Image>.Reference
        let mark: BytesMark
    }

    private struct Flush {
        /// The last store that it waits for.
        let lastNumber: Int
        var remainingCount: Int
        let completion: @Sendable () -> Void
    }

    /// A postponed store takes some 300 bytes.
    private static let postponedCountLimit = 16_384

    /// Returns `nil` if the limit is 0.
    ///
    /// - Parameter originals: has the original bytes.
    init?(originals: DiskCache, byteLimit: Int64?, ageLimit: Duration?) {
        guard byteLimit != 0 else { return nil }
        var configuration = originals.configuration.forPixels
        if let byteLimit { configuration.sizeLimit = byteLimit }
        if let ageLimit { configuration.ageLimit = ageLimit }
        disk = DiskCache(configuration: configuration)
        self.originals = originals
    }

    deinit { ProgramEnd.remove(ObjectIdentifier(self)) }

    /// The directory.
    var path: String { disk.configuration.directory.path }

    /// The longest value: 16 of them fit.
    private var valueByteLimit: Int64 { (sizeLimit ?? 1 << 30) / 16 }

    /// The limit of all values, in bytes.
    var sizeLimit: Int64? {
        get { disk.sizeLimit }
        set { disk.sizeLimit = newValue }
    }

    // MARK: Looking up

    /// Whether there may be any images.
    var mayHaveImages: Bool {
        if exists.load(ordering: .relaxed) { return true }
        guard access(path, F_OK) == 0 else { return false }
        exists.store(true, ordering: .relaxed)
        return true
    }

    /// Returns the image and its original's entry. Blocks on the disk.
    ///
    /// - Parameter original: the key of the original bytes.
    func find(_ key: String, madeFrom original: String) -> (image: Image, entry: DiskCache.Entry)? {
        disk.openOnce()
        originals.openOnce()
        guard let data = disk.find(key) else { return nil }
        guard let mark = PixelFile.original(of: data) else {
            disk.remove(for: key)
            return nil
        }
        guard let entry = originals.findEntry(original, countsAsUse: true) else { return nil }
        guard entry.mark == mark, let file = PixelFile(data) else {
            disk.remove(for: key)
            return nil
        }
        return (file.image, entry)
    }

    /// Like ``find(_:madeFrom:)``, on a reading thread.
    func load(
        _ key: String, madeFrom original: String, priority: LoadPriority,
        completion: @escaping @Sendable ((image: Image, entry: DiskCache.Entry)?) -> Void
    ) -> WorkItem {
        disk.onReadingThread(priority: priority) { completion(self.find(key, madeFrom: original)) }
    }

    /// Returns an entry, whether or not its original is still stored. This does not count as a use.
    func entry(for key: String) async -> DiskCache.Entry? { mayHaveImages ? await disk.entry(for: key) : nil }

    // MARK: Changing

    /// Stores an image without delaying the caller or other work: a decoding thread without other work encodes it.
    ///
    /// If too many pixels wait, the image is stored when there is space, unless it was released by then. It is then
    /// stored when it is next made.
    ///
    /// - Parameter mark: the original bytes.
    func store(_ image: Image, madeFrom mark: BytesMark, for key: String) {
        guard Self.byteCount(of: image) <= valueByteLimit, !image.isPartial, image.animation == nil,
            !DiskDirectory(path: originals.configuration.directory.path).isReadOnly
        else { return }
        exists.store(true, ordering: .relaxed)
        if !isAddedToProgramEnd.exchange(true, ordering: .relaxed) { ProgramEnd.add(self) }
        if !storeIfPossible(image, mark, key) { postpone(image, mark, key) }
    }

    private static func byteCount(of image: Image) -> Int { image.width * image.height * 4 }

    /// Returns whether there is space for the pixels.
    private func storeIfPossible(_ image: Image, _ mark: BytesMark, _ key: String) -> Bool {
        guard let share = waiting.holdIfPossible(Self.byteCount(of: image)) else { return false }
        let store = Store(key: key, image: image, mark: mark, share: share)
        let (number, isUrgent, completions) = state.withLock { state in
            let completions = state.end(key)
            state.lastNumber += 1
            state.unwritten[key] = state.lastNumber
            state.encodable[state.lastNumber] = store
            return (state.lastNumber, state.isFlushing, completions)
        }
        DecodingQueue.shared.submit(priority: isUrgent ? .high : .low) { self.encode(number) }
        for completion in completions { completion() }
        return true
    }

    private func postpone(_ image: Image, _ mark: BytesMark, _ key: String) {
        let reference = ValueRevival<Image>.Reference(LivingImage(copiesOf: image))
        let completions = state.withLock { state in
            let completions = state.end(key)
            guard state.postponed.count < Self.postponedCountLimit else { return completions }
            state.lastNumber += 1
            state.unwritten[key] = state.lastNumber
            state.postponed[key] = PostponedStore(image: reference, mark: mark)
            return completions
        }
        for completion in completions { completion() }
        // The last of the others may have been written meanwhile.
        if waiting.heldByteCount == 0 { storePostponed() }
    }

    /// Stores postponed images while there is space.
    private func storePostponed() {
        while true {
            let next = state.withLock { state -> (key: String, number: Int, store: PostponedStore)? in
                guard let (key, store) = state.postponed.first, let number = state.unwritten[key] else { return nil }
                return (key, number, store)
            }
            guard let next else { return }
            if let image = next.store.image.value {
                let byteCount = Self.byteCount(of: image)
                guard let share = waiting.holdIfPossible(byteCount) else { return }
                let store = Store(key: next.key, image: image, mark: next.store.mark, share: share)
                let isUrgent = state.withLock { state -> Bool? in
                    // It may have been removed or replaced, or taken by another thread.
                    guard state.unwritten[next.key] == next.number,
                        state.postponed.removeValue(forKey: next.key) != nil
                    else { return nil }
                    state.encodable[next.number] = store
                    return state.isFlushing
                }
                guard let isUrgent else {
                    share.settle(0)
                    continue
                }
                DecodingQueue.shared.submit(priority: isUrgent ? .high : .low) { self.encode(next.number) }
            } else {
                for completion in state.withLock({ $0.end(next.key, number: next.number) }) { completion() }
            }
        }
    }

    /// Does nothing if another thread has done it.
    private func encode(_ number: Int) {
        guard let store = state.withLock({ $0.encodable.removeValue(forKey: number) }) else { return }
        let data = PixelFile(store.image, madeFrom: store.mark).encoded()
        // The disk cache notes a change and writes later, so that a removal here is either before this store or after. A flush does not wait
        // for a larger batch.
        let isStored = state.withLock { state in
            guard let data, state.unwritten[store.key] == number else { return false }
            disk.store(data, for: store.key, attributes: DiskCache.Attributes(), isAwaited: state.isFlushing) {
                self.end(store, number)
            }
            return true
        }
        if !isStored { end(store, number) }
    }

    private func end(_ store: Store, _ number: Int) {
        store.share.settle(0)
        for completion in state.withLock({ $0.end(store.key, number: number) }) { completion() }
        storePostponed()
    }

    func remove(for key: String) {
        guard mayHaveImages else { return }
        let completions = state.withLock { state in
            disk.remove(for: key)
            return state.end(key)
        }
        for completion in completions { completion() }
    }

    func removeAll() async {
        guard mayHaveImages else { return }
        let completions = state.withLock { state in state.unwritten.keys.flatMap { state.end($0) } }
        for completion in completions { completion() }
        await disk.removeAll()
    }

    // MARK: Upkeep

    /// Calls `completion` when everything stored before is on disk. Does not wait for others' decoding.
    func whenWritten(_ completion: @escaping @Sendable () -> Void) {
        guard addFlush(completion) else { return disk.submitCompletion(completion) }
        DecodingQueue.shared.submit(priority: .high) { self.encodeAll() }
    }

    private func addFlush(_ completion: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { $0.addFlush(completion) }
    }

    private func encodeAll() {
        while let number = state.withLock({ $0.encodable.first?.key }) { encode(number) }
    }

    /// Writes everything, and applies the limits.
    func flush() async {
        await withCheckedContinuation { continuation in whenWritten { continuation.resume() } }
        if mayHaveImages { await disk.flush() }
    }

    /// `nil` if nothing was ever stored.
    func statistics() async -> DiskCache.Statistics? { mayHaveImages ? await disk.statistics() : nil }
}

extension PixelCache: UnwrittenCache {
    func writeUnwritten(completion: @escaping @Sendable () -> Void) {
        guard addFlush(completion) else { return completion() }
        encodeAll()
    }
}

extension DiskCache {
    /// The cache of decoded pixels in the directory of this one, for maintenance: its statistics, ``trim(toSize:toCount:toAge:)`` and
    /// ``removeAll(progress:)``. `nil` if no image was ever stored as pixels. Each access opens it.
    public var pixels: DiskCache? {
        let configuration = configuration.forPixels
        guard access(configuration.directory.path, F_OK) == 0 else { return nil }
        return DiskCache(configuration: configuration)
    }
}

extension DiskCache.Configuration {
    /// The configuration of the pixels beside a cache with this one.
    fileprivate var forPixels: Self {
        var configuration = self
        configuration.directory = directory.appending(path: "pixels")
        configuration.sizeLimit = sizeLimit.map { min($0, 1 << 30) }
        configuration.countLimit = nil
        configuration.name = name.map { "\($0), pixels" }
        // A thumbnail of 500 × 500. Segments are written quicker than files.
        configuration.fileThreshold = 1 << 20
        configuration.expiration = .never
        configuration.expirationExtension = .none
        return configuration
    }
}
