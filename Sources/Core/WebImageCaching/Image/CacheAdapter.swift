package import FoundationEssentials
internal import WebImageCoding
package import WebImageCore
internal import WebImageIsolation

/// Adapts any ``ImageCaching`` to a pipeline.
///
/// Calls for one source run one after another, in the order in which they were made:
///
/// ```
///  storeLoaded(a) ─► apply(a) ─► read(a)        a chain of tasks for each source
///  storeVariant(b) ─► read(b)
/// ```
/// Until the cache has stored an image in memory, this object retains it, so that later look-ups find it.
package final class CacheAdapter: PipelineCache {
    package let base: any ImageCaching
    package let provenances: ProvenanceTable
    private let changes = ChangeMonitor<ImageCacheKey>()
    private let state = Lock(State())

    private struct State {
        /// The last call for each source.
        var chains: [KeyText: (number: Int, task: Task<Void, Never>)] = [:]
        var lastNumber = 0
        /// Images that are being stored in memory; `nil` for one that is being removed.
        var pending: [ImageCacheKey: (number: Int, image: Image?)] = [:]
    }

    /// One adapter per cache in the process, so that managers which share a cache share what is known about its images.
    /// The table of what is known outlives the adapter, as long as the cache exists.
    private static let references = Lock<[ObjectIdentifier: Reference]>([:])

    private struct Reference {
        weak var base: (any ImageCaching)?
        weak var adapter: CacheAdapter?
        let provenances: ProvenanceTable
    }

    private init(_ base: any ImageCaching, _ provenances: ProvenanceTable) {
        (self.base, self.provenances) = (base, provenances)
    }

    /// Returns the cache in the form that a pipeline needs.
    package static func pipelineCache(_ cache: any ImageCaching) -> any PipelineCache {
        if let cache = cache as? ImageCache { return ImageCacheAdapter(cache) }
        let id = ObjectIdentifier(cache)
        // Objects that the look at weak references holds are released outside the lock.
        let (adapter, held) = references.withLock { references -> (CacheAdapter, [AnyObject]) in
            let (base, adapter) = (references[id]?.base, references[id]?.adapter)
            if let adapter, base === cache { return (adapter, []) }
            let bases = references.values.map(\.base)
            references = references.filter { $0.value.base != nil }
            let provenances = base === cache ? references[id]?.provenances : nil
            let new = CacheAdapter(cache, provenances ?? ProvenanceTable())
            references[id] = Reference(base: cache, adapter: new, provenances: new.provenances)
            return (new, bases.compactMap { $0 } + [adapter].compactMap { $0 })
        }
        withExtendedLifetime(held) {}
        return adapter
    }

    package var holdsAnimations: Bool { true }
    package var hasDisk: Bool { true }

    // MARK: Memory

    package func image(
        inMemoryFor key: ImageCacheKey, allowsAnimated: Bool, counting: LookUpCount,
        where isUsable: (Image) -> Bool
    ) -> Image? {
        let image = currentImage(for: key).flatMap { isUsable($0) ? $0 : nil }
        if allowsAnimated { return image }
        return image?.firstFrame ?? currentImage(for: key.firstFrame).flatMap { isUsable($0) ? $0 : nil }
    }

    package func isInMemory(_ key: ImageCacheKey) -> Bool { currentImage(for: key) != nil }

    private func currentImage(for key: ImageCacheKey) -> Image? {
        let pending = state.withLock { $0.pending[key] }
        let image = pending.map(\.image) ?? base.image(inMemoryFor: key)
        return image?.isSuperseded == true ? nil : image
    }

    package func expirationInMemory(for key: ImageCacheKey) -> CacheExpiration? { nil }

    package func insert(
        _ image: Image, for key: ImageCacheKey, expiration: CacheExpiration?, isStored: Bool,
        unlessChangedSince watches: [Watch]
    ) {
        guard currentImage(for: key) == nil else { return }
        keep(image, for: key, expiration: expiration, unlessChangedSince: watches)
    }

    /// - Parameter image: `nil` removes what is in memory.
    private func keep(
        _ image: Image?, for key: ImageCacheKey, expiration: CacheExpiration?, unlessChangedSince watches: [Watch] = []
    ) {
        let last = state.withLock { state -> Image? in
            guard !watches.contains(where: \.hasChanged) else { return nil }
            state.lastNumber += 1
            let number = state.lastNumber
            let last = state.pending.updateValue((number, image), forKey: key)
            enqueue(key, &state) { [self] in
                if let image {
                    let attributes = DiskCache.Attributes(expiration: expiration, extendedData: image.extendedData)
                    await StoredProvenance.$isKept.withValue(true) {
                        await base.store(image, data: nil, for: key, in: .memory, attributes: attributes)
                    }
                } else {
                    await base.remove(for: key, from: .memory)
                }
                let last = self.state.withLock { state in
                    state.pending[key]?.number == number ? state.pending.removeValue(forKey: key) : nil
                }
                withExtendedLifetime(last) {}
            }
            return last?.image
        }
        withExtendedLifetime(last) {}
    }

    // MARK: Bytes

    package func watch(_ key: ImageCacheKey) -> Watch { Watch(key, changes) }

    package func read(
        _ key: ImageCacheKey, priority: LoadPriority, alternates: @escaping @Sendable (StoredImage) -> [Int],
        completion: @escaping @Sendable ([StoredImage]) -> Void
    ) -> (any LoaderTask)? {
        let watch = watch(key)
        let task = enqueue(key) { [self] in
            completion(Task.isCancelled ? [] : await stored(key, watch, alternates))
        }
        return ChainedTask(task: task)
    }

    /// Must run in the source's chain.
    private func stored(
        _ key: ImageCacheKey, _ watch: Watch, _ alternates: (StoredImage) -> [Int]
    ) async -> [StoredImage] {
        guard let latest = await stored(key, watch) else { return [] }
        var all = [latest]
        for slot in alternates(latest) {
            if let other = await stored(key.alternate(slot), watch) { all.append(other) }
        }
        return all
    }

    private func stored(_ key: ImageCacheKey, _ watch: Watch) async -> StoredImage? {
        guard let result = await base.data(for: key, in: .disk), let data = result.data else { return nil }
        return StoredImage(result, data: data, for: key, watch)
    }

    package func blockingRead(_ key: ImageCacheKey, alternates: (StoredImage) -> [Int]) -> [StoredImage] { [] }

    package func readAttributes(of key: ImageCacheKey, completion: @escaping @Sendable (ImageCacheResult?) -> Void) {
        enqueue(key) { [base] in completion(await base.data(for: key, in: .disk)) }
    }

    package func update(_ stored: StoredImage, responseMetadata: Data) {
        enqueue(stored.key) { [base] in
            let attributes = stored.attributes(responseMetadata: responseMetadata)
            await base.update(attributes, of: stored.data, for: stored.key)
        }
    }

    package func discard(_ stored: StoredImage, because error: WebImageError) {
        var passage = stored.watch.passage
        guard changes.changeDiskIfUnchanged(&passage, {}) else { return }
        enqueue(stored.key) { [base] in
            // The program may have stored others since.
            guard await base.data(for: stored.key, in: .disk)?.data == stored.data else { return }
            await base.remove(for: stored.key, from: .disk)
        }
    }

    package func storeLoaded(_ image: Image?, original change: StoredChange?, for key: ImageCacheKey) {
        if let change { apply(change, for: key) }
        noteChange(of: key)
        keep(image, for: key, expiration: nil)
    }

    package func store(_ image: Image, data: Data?, for key: ImageCacheKey, in tiers: ImageCache.Tiers) {
        guard !tiers.isEmpty else { return }
        var image = image
        image.provenance = nil
        noteChange(of: key)
        if tiers.contains(.memory) { keep(image, for: key, expiration: nil) }
        let attributes = DiskCache.Attributes(
            extendedData: ImageRecord(image, extendedData: image.extendedData).data)
        guard tiers.contains(.disk) else { return }
        enqueue(key) { [self, image] in
            await storeOnDisk(image, data, for: key, attributes)
        }
    }

    package func apply(_ change: StoredChange, for key: ImageCacheKey) {
        let key = key.original
        noteChange(of: key)
        enqueue(key) { [self] in
            switch change {
            case .store(let data, let metadata):
                await store(data, for: key, DiskCache.Attributes(responseMetadata: metadata))
            case .remove(let withAlternates):
                if withAlternates { for other in key.alternates { await base.remove(for: other, from: .disk) } }
                await base.remove(for: key, from: .disk)
            case .storeBesideOthers(let alternates, let place):
                let placement = place(await stored(key, watch(key), alternates))
                for slot in placement.removedSlots { await base.remove(for: key.alternate(slot), from: .disk) }
                if let (stored, metadata, slot) = placement.displaced {
                    await store(
                        stored.data, for: key.alternate(slot), stored.attributes(responseMetadata: metadata))
                }
                await store(
                    placement.data, for: key, DiskCache.Attributes(responseMetadata: placement.responseMetadata))
            }
        }
    }

    private func store(_ data: Data, for key: ImageCacheKey, _ attributes: DiskCache.Attributes) async {
        await base.store(nil, data: data, for: key, in: .disk, attributes: attributes)
    }

    package func storeVariant(
        _ image: Image, data: Data?, for key: ImageCacheKey, expiration: CacheExpiration?, responseMetadata: Data?,
        completion: @escaping @Sendable () -> Void
    ) {
        noteChange(of: key)
        let attributes = DiskCache.Attributes(
            expiration: expiration, extendedData: ImageRecord(image, extendedData: image.extendedData).data,
            responseMetadata: responseMetadata)
        enqueue(key) { [self] in
            await storeOnDisk(image, data, for: key, attributes)
            completion()
        }
    }

    private func storeOnDisk(
        _ image: Image, _ data: Data?, for key: ImageCacheKey, _ attributes: DiskCache.Attributes
    ) async {
        guard let data = await Self.bytes(of: image, data) else { return await base.remove(for: key, from: .disk) }
        await base.store(nil, data: data, for: key, in: .disk, attributes: attributes)
    }

    /// Encodes the image if there are no bytes, so that a custom cache need not.
    private static func bytes(of image: Image, _ data: Data?) async -> Data? {
        if let data = data ?? image.originalData { return data }
        return await DecodingQueue.run { try? CodecRegistry.shared.encodedForStorage(image, quality: 0.9) }
    }

    package func whenWritten(_ completion: @escaping @Sendable () -> Void) {
        let tasks = state.withLock { $0.chains.values.map(\.task) }
        Task {
            for task in tasks { await task.value }
            completion()
        }
    }

    // MARK: Order

    private func noteChange(of key: ImageCacheKey) {
        var passage = changes.begin(key)
        changes.change(&passage)
        _ = changes.end(passage)
    }

    /// Runs `body` after all earlier calls for the key's source.
    @discardableResult
    private func enqueue(_ key: ImageCacheKey, _ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        state.withLock { enqueue(key, &$0, body) }
    }

    @discardableResult
    private func enqueue(
        _ key: ImageCacheKey, _ state: inout State, _ body: @escaping @Sendable () async -> Void
    ) -> Task<Void, Never> {
        let source = KeyText(key.source)
        state.lastNumber += 1
        let (number, last) = (state.lastNumber, state.chains[source]?.task)
        let task = Task { [self] in
            await last?.value
            await body()
            let ended = self.state.withLock { state in
                state.chains[source]?.number == number ? state.chains.removeValue(forKey: source) : nil
            }
            withExtendedLifetime(ended) {}
        }
        state.chains[source] = (number, task)
        return task
    }
}

/// Whether images that a cache stores keep what is known about the response they came from: those of a manager do,
/// those of a program do not.
enum StoredProvenance {
    @TaskLocal static var isKept = false
}

/// A read that waits for earlier calls.
private struct ChainedTask: LoaderTask {
    let task: Task<Void, Never>

    func cancel() { task.cancel() }
}
