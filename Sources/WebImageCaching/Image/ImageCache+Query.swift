internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

extension ImageCache {
    /// The picture; `nil` when none of the tiers has it, or the task was cancelled.
    ///
    /// Memory answers without a turn of another thread. What comes from the disk is decoded once for all who ask at the
    /// same time, and put into memory only if `tiers` has memory.
    public func image(
        for key: ImageCacheKey, in tiers: Tiers = .all, options: ImageQueryOptions = ImageQueryOptions()
    ) async -> ImageCacheResult? {
        let options = permitted(options)
        if tiers.contains(.memory), let result = resultInMemory(for: key, options) { return result }
        guard tiers.contains(.disk) else { return nil }
        // Who asks after a change must not share an answer from before it. All who wait for an answer keep the count alive:
        // it begins anew when nobody is at work on the key.
        let passage = changes.begin(key)
        defer { _ = changes.end(passage) }
        let question = Question(
            key: key, tiers: tiers, decodesForDisplay: options.decodesForDisplay,
            allowsAnimated: options.allowsAnimated, changeCount: changes.changeCount(of: key))
        return await queries.answer(to: question, priority: options.priority) { urgency in
            await self.answer(to: question, options, urgency)
        }
    }

    /// The bytes as they are stored, without decoding them; `nil` when none of the tiers has any. Memory has those that a
    /// picture kept.
    public func data(for key: ImageCacheKey, in tiers: Tiers = .all) async -> ImageCacheResult? {
        if tiers.contains(.memory), let result = dataInMemory(for: key) { return result }
        guard tiers.contains(.disk) else { return nil }
        return await storedBytes(for: key)?.result
    }

    /// Where the picture is; `nil` when none of the tiers has it. Asking does not count as a use.
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

    /// As ``image(for:in:options:)``; blocks on the disk and decodes on the calling thread.
    @available(*, noasync, message: "It blocks on the disk; use image(for:in:options:)")
    public func cachedImage(
        for key: ImageCacheKey, in tiers: Tiers = .all, options: ImageQueryOptions = ImageQueryOptions()
    ) -> ImageCacheResult? {
        let options = permitted(options)
        if tiers.contains(.memory), let result = resultInMemory(for: key, options) { return result }
        guard tiers.contains(.disk) else { return nil }
        let passage = changes.begin(key)
        guard let stored = storedBytesBlocking(for: key) else {
            _ = changes.end(passage)
            return nil
        }
        return decode(stored, passage, promotes: tiers.contains(.memory), options, Cancellation())
    }

    /// As ``data(for:in:)``; blocks on the disk.
    @available(*, noasync, message: "It blocks on the disk; use data(for:in:)")
    public func cachedData(for key: ImageCacheKey, in tiers: Tiers = .all) -> ImageCacheResult? {
        if tiers.contains(.memory), let result = dataInMemory(for: key) { return result }
        return tiers.contains(.disk) ? storedBytesBlocking(for: key)?.result : nil
    }

    /// As ``tier(holding:in:)``; blocks on the disk.
    @available(*, noasync, message: "It blocks on the disk; use tier(holding:in:)")
    public func cachedTier(holding key: ImageCacheKey, in tiers: Tiers = .all) -> CacheTier? {
        if tiers.contains(.memory), isInMemory(key) { return .memory }
        guard tiers.contains(.disk) else { return nil }
        if disk?.isCached(key.description) == true { return .disk }
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
        image(inMemoryFor: key, allowsAnimated: options.allowsAnimated, counting: counting).map { image in
            ImageCacheResult(image: image, data: image.originalData, tier: .memory, extendedData: image.extendedData)
        }
    }

    private func dataInMemory(for key: ImageCacheKey) -> ImageCacheResult? {
        guard let image = currentImage(for: key, where: { $0.originalData != nil }), let data = image.originalData
        else { return nil }
        return ImageCacheResult(image: image, data: data, tier: .memory, extendedData: image.extendedData)
    }

    /// Whether ``image(inMemoryFor:)`` would find a picture; asking does not count as a use.
    package func isInMemory(_ key: ImageCacheKey) -> Bool {
        hasCurrentImage(for: key) || !configuration.allowsAnimated && hasCurrentImage(for: key.firstFrame)
    }

    private func hasCurrentImage(for key: ImageCacheKey) -> Bool {
        memory.peek(key).map { $0.provenance?.isSuperseded != true } ?? false
    }

    // MARK: Disk

    /// What has one answer for all who ask at the same time.
    struct Question: Hashable, Sendable {
        let key: ImageCacheKey
        let tiers: Tiers
        let decodesForDisplay: Bool
        let allowsAnimated: Bool
        let changeCount: Int
    }

    private func answer(
        to question: Question, _ options: ImageQueryOptions, _ urgency: Urgency
    ) async -> ImageCacheResult? {
        guard await turns.begin(urgency) else { return nil }
        defer { turns.end() }
        let passage = changes.begin(question.key)
        guard let stored = await storedBytes(for: question.key) else {
            _ = changes.end(passage)
            return nil
        }
        let promotes = question.tiers.contains(.memory)
        let result = await DecodingQueue.run(
            priority: urgency.priority, onQueued: { item in urgency.apply { item.setPriority($0) } },
            { self.decode(stored, passage, promotes: promotes, options, $0) })
        guard let result else {
            // It never ran.
            _ = changes.end(passage)
            return nil
        }
        return result
    }

    /// Decodes, puts the picture into memory if that is wanted, and ends the passage.
    private func decode(
        _ stored: StoredBytes, _ passage: ChangeMonitor<ImageCacheKey>.Passage, promotes: Bool,
        _ options: ImageQueryOptions, _ cancellation: Cancellation
    ) -> ImageCacheResult? {
        // Somebody may have decoded it in the meantime, or stored it.
        if promotes, let result = resultInMemory(for: passage.key, options, counting: []) {
            _ = changes.end(passage)
            return result
        }
        var result = stored.result
        do throws(WebImageError) {
            guard options.decodesForDisplay else {
                result.info = try configuration.codecs.info(of: stored.data)
                _ = changes.end(passage)
                return result
            }
            let decoding = DecodingOptions(
                firstFrameOnly: !options.allowsAnimated, damage: .refuse, limits: configuration.decodingLimits,
                cancellation: cancellation)
            var image = try configuration.codecs.decode(stored.data, options: decoding)
            stored.record.apply(to: &image)
            // The frames after the first are in the bytes alone.
            if image.isAnimated { image.data = stored.data }
            let picture = options.allowsAnimated ? image : image.firstFrame
            promote(promotes ? picture : nil, isWhole: options.allowsAnimated || !image.isAnimated, stored, passage)
            result.image = picture
            return result
        } catch {
            giveUp(stored.path.map(DamagedBytes.file) ?? .disk, passage, error)
            return nil
        }
    }

    /// - Parameter isWhole: whether it is all that the key stands for, and not the first frame of it.
    private func promote(
        _ image: Image?, isWhole: Bool, _ stored: StoredBytes, _ passage: ChangeMonitor<ImageCacheKey>.Passage
    ) {
        let key = isWhole ? passage.key : passage.key.firstFrame
        var isInserted = false
        if let image, !changes.hasChanged(since: passage) {
            isInserted = memory.insert(
                image, for: key, cost: image.memoryCost, expiration: stored.expires.map(CacheExpiration.date))
        }
        if changes.end(passage), isInserted { memory.remove(for: key) }
    }

    /// Where bytes came from that can't be decoded.
    enum DamagedBytes {
        case disk
        /// A read-only file, which stays.
        case file(path: String)
        /// They are in no cache.
        case caller
    }

    /// Ends the passage of what could not be decoded: it is removed, unless somebody has stored something else in the
    /// meantime. What is only too large for the limits, or for the memory that is left now, stays.
    ///
    func giveUp(
        _ bytes: DamagedBytes, _ passage: ChangeMonitor<ImageCacheKey>.Passage, _ error: WebImageError
    ) {
        var passage = passage
        let key = passage.key
        defer { _ = changes.end(passage) }
        switch error {
        case .cancelled:
            return
        case .decoding, .unrecognizedFormat:
            let isFirst =
                switch bytes {
                case .disk: changes.changeDiskIfUnchanged(&passage) { disk?.remove(for: key.description) }
                case .file(let path): damagedFiles.withLock { $0.insert(path).inserted }
                case .caller: true
                }
            guard isFirst else { return }
            report(.damagedCacheEntry(key: key.description, reason: error.description))
        default:
            report(error)
        }
    }
}
