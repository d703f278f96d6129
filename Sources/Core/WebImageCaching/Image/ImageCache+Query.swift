internal import FoundationEssentials
internal import WebImageCoding
public import WebImageCore

extension ImageCache {
    /// Returns the image; `nil` if none of the tiers has it, or if the task was cancelled.
    ///
    /// Memory is read on the calling thread. Bytes from disk are decoded once for all concurrent queries, and the image
    /// is put into memory only if `tiers` contains it.
    public func image(for key: ImageCacheKey, in tiers: Tiers = .all) async -> ImageCacheResult? {
        await image(for: key, in: tiers, options: ImageQueryOptions())
    }

    /// Like ``image(for:in:)``, with options.
    ///
    /// - Parameters:
    ///   - decodesForDisplay: whether bytes from disk are decoded; `true` by default. If `false`, the result has the
    ///     bytes and their header, and memory is not changed. A hit in memory includes the image in any case.
    ///   - allowsAnimated: whether the image may be animated; `true` by default. If not, it is the first frame, without
    ///     data.
    ///   - priority: the priority of reading and decoding. Joined queries use the highest.
    public func image(
        for key: ImageCacheKey, in tiers: Tiers = .all, decodesForDisplay: Bool = true, allowsAnimated: Bool = true,
        priority: LoadPriority = .normal
    ) async -> ImageCacheResult? {
        let options = ImageQueryOptions(
            decodesForDisplay: decodesForDisplay, allowsAnimated: allowsAnimated, priority: priority)
        return await image(for: key, in: tiers, options: options)
    }

    func image(
        for key: ImageCacheKey, in tiers: Tiers, options: ImageQueryOptions
    ) async -> ImageCacheResult? {
        let options = permitted(options)
        if tiers.contains(.memory), let result = resultInMemory(for: key, options) { return result }
        guard tiers.contains(.disk) else { return nil }
        // A query after a change must not join one from before it. The watch keeps the change count alive during the
        // query.
        let watch = watch(key)
        defer { withExtendedLifetime(watch) {} }
        let query = Query(
            key: key, tiers: tiers, decodesForDisplay: options.decodesForDisplay,
            allowsAnimated: options.allowsAnimated, changeCount: changes.changeCount(of: key))
        let result = await queries.result(for: query, priority: options.priority) { start(query, options, $0) }
        return (try? result.get()).flatMap { $0 }
    }

    /// Returns the stored bytes without decoding them; `nil` if none of the tiers has any. Memory has bytes only if the
    /// image has kept them.
    public func data(for key: ImageCacheKey, in tiers: Tiers = .all) async -> ImageCacheResult? {
        if tiers.contains(.memory), let result = dataInMemory(for: key) { return result }
        guard tiers.contains(.disk) else { return nil }
        return await withCheckedContinuation { continuation in
            _ = readBytes(for: key, priority: .normal) { continuation.resume(returning: $0?.withoutRecord) }
        }
    }

    /// Returns the tier that has the image; `nil` if there is none. This does not count as a use.
    public func tier(holding key: ImageCacheKey, in tiers: Tiers = .all) async -> CacheTier? {
        if tiers.contains(.memory), isInMemory(key) { return .memory }
        guard tiers.contains(.disk) else { return nil }
        if await disk?.contains(key.description) == true { return .disk }
        guard !configuration.bundled.isEmpty else { return nil }
        return await withCheckedContinuation { continuation in
            BundledImages.queue.submit {
                continuation.resume(returning: self.bundledPath(for: key) == nil ? nil : .bundled)
            }
        }
    }

    // MARK: Blocking

    /// Like ``image(for:in:decodesForDisplay:allowsAnimated:priority:)``, but blocks on the disk and decodes on the
    /// calling thread.
    @available(*, noasync, message: "It blocks on the disk; use image(for:in:)")
    public func blockingImage(
        for key: ImageCacheKey, in tiers: Tiers = .all, decodesForDisplay: Bool = true, allowsAnimated: Bool = true
    ) -> ImageCacheResult? {
        let options = permitted(
            ImageQueryOptions(decodesForDisplay: decodesForDisplay, allowsAnimated: allowsAnimated))
        if tiers.contains(.memory), let result = resultInMemory(for: key, options) { return result }
        guard tiers.contains(.disk) else { return nil }
        let watch = watch(key)
        guard let stored = bytesOnDisk(for: key) else { return nil }
        return decode(stored, watch, promotes: tiers.contains(.memory), options, .normal, Cancellation())
    }

    /// Like ``data(for:in:)``, but blocks on the disk.
    @available(*, noasync, message: "It blocks on the disk; use data(for:in:)")
    public func blockingData(for key: ImageCacheKey, in tiers: Tiers = .all) -> ImageCacheResult? {
        if tiers.contains(.memory), let result = dataInMemory(for: key) { return result }
        return tiers.contains(.disk) ? bytesOnDisk(for: key)?.withoutRecord : nil
    }

    /// Like ``tier(holding:in:)``, but blocks on the disk.
    @available(*, noasync, message: "It blocks on the disk; use tier(holding:in:)")
    public func blockingTier(holding key: ImageCacheKey, in tiers: Tiers = .all) -> CacheTier? {
        if tiers.contains(.memory), isInMemory(key) { return .memory }
        guard tiers.contains(.disk) else { return nil }
        if disk?.blockingContains(key.description) == true { return .disk }
        return bundledPath(for: key) == nil ? nil : .bundled
    }

    // MARK: Memory

    private func permitted(_ options: ImageQueryOptions) -> ImageQueryOptions {
        var options = options
        options.decodesForDisplay = options.decodesForDisplay && configuration.decodesForDisplay
        options.allowsAnimated = options.allowsAnimated && configuration.allowsAnimated
        return options
    }

    private func resultInMemory(
        for key: ImageCacheKey, _ options: ImageQueryOptions, counting: LookUpCount = .all
    ) -> ImageCacheResult? {
        image(inMemoryFor: key, allowsAnimated: options.allowsAnimated, counting: counting).map(Self.result)
    }

    private func dataInMemory(for key: ImageCacheKey) -> ImageCacheResult? {
        currentImage(for: key, where: { $0.originalData != nil }).map(Self.result)
    }

    private static func result(inMemory image: Image) -> ImageCacheResult {
        ImageCacheResult(
            image: image, data: image.originalData, tier: .memory,
            attributes: DiskCache.Attributes(extendedData: image.extendedData))
    }

    // MARK: Bytes

    /// Returns the bytes of the disk cache, with the record of their image in the extended data.
    private static func result(of item: DiskCache.Item) -> ImageCacheResult {
        ImageCacheResult(data: item.data, tier: .disk, attributes: item.entry.attributes, created: item.entry.created)
    }

    /// Reads on a thread of the library.
    private func readBytes(
        for key: ImageCacheKey, priority: LoadPriority, completion: @escaping @Sendable (ImageCacheResult?) -> Void
    ) -> (any LoaderTask)? {
        guard let disk else {
            guard !configuration.bundled.isEmpty else {
                completion(nil)
                return nil
            }
            return QueuedTask(
                BundledImages.queue.submit(priority: priority) { completion(self.bundledBytes(for: key)) })
        }
        let item = disk.loadItem(key.description, priority: priority) { [self] item in
            if let item { return completion(Self.result(of: item)) }
            guard !configuration.bundled.isEmpty else { return completion(nil) }
            BundledImages.queue.submit(priority: priority) { completion(self.bundledBytes(for: key)) }
        }
        return QueuedTask(item)
    }

    /// Reads on the calling thread, which blocks.
    private func bytesOnDisk(for key: ImageCacheKey) -> ImageCacheResult? {
        disk?.blockingItem(for: key.description).map(Self.result(of:)) ?? bundledBytes(for: key)
    }

    private func bundledBytes(for key: ImageCacheKey) -> ImageCacheResult? {
        for images in configuration.bundled {
            guard let data = images.path(key).flatMap(BundledImages.read) else { continue }
            return ImageCacheResult(data: data, tier: .bundled, created: .distantPast)
        }
        return nil
    }

    private func bundledPath(for key: ImageCacheKey) -> String? {
        configuration.bundled.lazy.compactMap { $0.path(key) }.first(where: BundledImages.isFile)
    }

    // MARK: Decoding

    /// The parameters that joining queries have in common.
    struct Query: Hashable, Sendable {
        let key: ImageCacheKey
        let tiers: Tiers
        let decodesForDisplay: Bool
        let allowsAnimated: Bool
        /// The number of changes of the key during the work on it.
        let changeCount: Int
    }

    private func start(_ query: Query, _ options: ImageQueryOptions, _ job: Job<ImageCacheResult?, NoNews>) {
        job.run { priority in
            undecoded.admit(priority: priority) { [self] share in
                let watch = watch(query.key)
                job.run { priority in
                    readBytes(for: query.key, priority: priority) { [self] stored in
                        guard let stored else { return job.finish(.success(nil)) }
                        share.settle(stored.data?.count ?? 0)
                        job.run { priority in
                            DecodingQueue.shared.run(priority: priority) { [self] cancellation in
                                let promotes = query.tiers.contains(.memory)
                                let result = decode(stored, watch, promotes: promotes, options, priority, cancellation)
                                share.settle(0)
                                job.finish(.success(result))
                            }
                        }
                    }
                }
            }
        }
    }

    /// Decodes on the calling thread.
    private func decode(
        _ stored: ImageCacheResult, _ watch: Watch, promotes: Bool, _ options: ImageQueryOptions,
        _ priority: LoadPriority, _ cancellation: Cancellation
    ) -> ImageCacheResult? {
        guard let data = stored.data else { return nil }
        let key = watch.passage.key
        // Another query may have been faster; this one was already counted as a miss.
        if promotes, let result = resultInMemory(for: key, options, counting: .none) { return result }
        var result = stored.withoutRecord
        do throws(WebImageError) {
            guard options.decodesForDisplay else {
                result.info = try configuration.codecs.info(of: data, limits: configuration.decodingLimits)
                return result
            }
            var decoding = DecodingOptions(
                firstFrameOnly: !options.allowsAnimated, allowsDamage: false, limits: configuration.decodingLimits,
                cancellation: cancellation)
            decoding.priority = priority
            var image = try configuration.codecs.decode(data, options: decoding)
            ImageRecord(stored.attributes.extendedData).apply(to: &image)
            // The frames after the first are only in the bytes.
            if image.isAnimated { image.data = data }
            let isWhole = options.allowsAnimated || !image.isAnimated
            result.image = options.allowsAnimated ? image : image.firstFrame
            if promotes, let image = result.image {
                insert(
                    image, for: isWhole ? key : key.firstFrame, expiration: result.attributes.expiration,
                    isStored: true, unlessChangedSince: [watch])
            }
            return result
        } catch {
            discard(stored.tier, watch.passage, error)
            return nil
        }
    }

    /// Removes damaged bytes from disk, unless others were stored meanwhile, and reports them once. Bytes that only
    /// exceed the limits or the available memory are not removed.
    ///
    /// - Parameter tier: where the bytes are; memory for those of a caller.
    func discard(
        _ tier: CacheTier, _ passage: ChangeMonitor<ImageCacheKey>.Passage, _ error: WebImageError
    ) {
        var passage = passage
        let key = passage.key
        switch error {
        case .cancelled:
            return
        case .decoding(_, .page, _):
            report(error)
        case .decoding, .unrecognizedFormat:
            let path = (tier == .bundled ? bundledPath(for: key) : disk?.configuration.directory.path) ?? ""
            let isFirst =
                switch tier {
                case .disk: changes.changeDiskIfUnchanged(&passage) { disk?.remove(for: key.description) }
                case .bundled: damagedFiles.withLock { $0.insert(path).inserted }
                case .memory: true
                }
            guard isFirst else { return }
            let reason = WebImageError.DiskCacheFailure.unarchiving(key: key.description, message: error.description)
            report(.diskCache(path: path, reason: reason))
        default:
            report(error)
        }
    }
}

extension ImageCacheResult {
    /// The result for callers: the extended data are those that a program has stored, without the record of the image.
    fileprivate var withoutRecord: ImageCacheResult {
        var result = self
        result.attributes.extendedData = ImageRecord(attributes.extendedData).extendedData
        return result
    }
}
