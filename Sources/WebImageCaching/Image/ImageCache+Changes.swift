public import FoundationEssentials
internal import WebImageCoding
public import WebImageCore

extension ImageCache {
    /// Stores a picture, its bytes, or both; returns at once, and look-ups find it from now on.
    ///
    /// The bytes go to the disk as they are. For a picture without, the disk gets what the picture kept (an animation is
    /// stored with all its frames), else the picture encoded: in its own format where that can be written, else PNG if
    /// pixels may be transparent, else JPEG; of an animation without its bytes, or changed since, the first frame alone. That takes a moment, in which the disk has nothing. Of bytes without a picture,
    /// memory gets the decoded picture in a moment. A partial picture is not stored: the call does nothing. Tiers that are
    /// not named stay as they are.
    ///
    /// Of pictures to encode and bytes to decode, 64 MiB may wait. What comes on top is not encoded, or not decoded, as
    /// memory has an end and callers don't wait: who stores very many awaits the other form, which leaves out nothing.
    ///
    /// - Parameters:
    ///   - image: what memory gets, at the cost of its bytes.
    ///   - data: the bytes for this very key: those of an original are not those of its variants.
    ///   - tiers: by default ``Tiers/standard(for:)``: a variant goes to the disk only where this says so.
    ///   - attributes: when it expires and what to keep beside it. Their `extendedData`, or else the picture's, is kept with
    ///     the picture's scale.
    public func store(
        _ image: Image?, data: Data? = nil, for key: ImageCacheKey, in tiers: Tiers? = nil,
        attributes: DiskCache.Attributes = DiskCache.Attributes()
    ) {
        put(NewContent(image, data, attributes), for: key, in: tiers ?? .standard(for: key), isAwaited: false) {}
    }

    /// As the other of that name; returns when it is on disk (and, where it came as bytes, decoded), or could not be stored.
    public func store(
        _ image: Image?, data: Data?, for key: ImageCacheKey, in tiers: Tiers, attributes: DiskCache.Attributes
    ) async {
        await withCheckedContinuation { continuation in
            put(NewContent(image, data, attributes), for: key, in: tiers, isAwaited: true) { continuation.resume() }
        }
    }

    /// Removes the picture; returns at once, and look-ups find nothing from now on. Other variants stay. What a manager is
    /// fetching from a server meanwhile is stored when it comes.
    public func remove(for key: ImageCacheKey, from tiers: Tiers = .all) { take(key, from: tiers) {} }

    /// As the other of that name; returns when it is gone from the disk, or could not be removed.
    public func remove(for key: ImageCacheKey, from tiers: Tiers = .all) async {
        await withCheckedContinuation { continuation in take(key, from: tiers) { continuation.resume() } }
    }

    /// Removes everything; read-only files stay.
    public func clear(_ tiers: Tiers = .all) async {
        await clear(tiers) { disk in await disk.removeAll() }
    }

    /// Removes everything; `progress` is told how many entries are gone from the disk, of how many, on a thread of the
    /// library.
    public func clear(
        _ tiers: Tiers = .all, progress: @escaping @Sendable (_ removed: Int, _ total: Int) -> Void
    ) async {
        await clear(tiers) { disk in await disk.removeAll(progress: progress) }
    }

    private func clear(_ tiers: Tiers, _ removeAll: (DiskCache) async -> Void) async {
        changes.changeAll(reachesDisk: tiers.contains(.disk))
        if tiers.contains(.memory) { memory.removeAll() }
        guard tiers.contains(.disk), let disk else { return }
        await removeAll(disk)
        changes.changeAll()
        // Once more, for what look-ups had read before the disk was empty.
        if tiers.contains(.memory) { memory.removeAll() }
    }

    // MARK: Storing

    /// What a call of `store` brings.
    struct NewContent: Sendable {
        var image: Image?
        let data: Data?
        let attributes: DiskCache.Attributes

        init(_ image: Image?, _ data: Data?, _ attributes: DiskCache.Attributes) {
            self.image = image
            // What a program stores is not the answer that it may once have come with.
            self.image?.provenance = nil
            self.data = data
            self.attributes = attributes
            if let extendedData = attributes.extendedData { self.image?.extendedData = extendedData }
        }

        /// Whether there is something to store, and all of it.
        var isWhole: Bool { image.map { !$0.isPartial } ?? (data != nil) }

        /// The memory that it takes while it waits.
        var byteCount: Int { (image?.memoryCost ?? 0) + (data?.count ?? 0) }

        /// What lies beside the bytes on disk.
        var diskAttributes: DiskCache.Attributes {
            var attributes = attributes
            attributes.extendedData =
                ImageRecord(image, extendedData: attributes.extendedData ?? image?.extendedData).data
            return attributes
        }
    }

    /// - Parameters:
    ///   - isAwaited: whether the caller holds the content until `completion` is called.
    ///   - completion: called once, on this thread or another.
    func put(
        _ content: NewContent, for key: ImageCacheKey, in tiers: Tiers, isAwaited: Bool,
        completion: @escaping @Sendable () -> Void
    ) {
        guard content.isWhole else { return completion() }
        var passage = changes.begin(key)
        let disk = tiers.contains(.disk) ? disk : nil
        let hasMemory = tiers.contains(.memory)
        // Bytes that are there, and stay as they are, need no work.
        let hasReadyData = content.image == nil || configuration.serializer == nil
        let readyData = hasReadyData ? content.data ?? content.image?.originalData : nil
        let makesBytes = disk != nil && readyData == nil && content.image != nil
        let makesPicture = hasMemory && content.image == nil && content.data != nil
        let backlogged = isAwaited ? 0 : content.byteCount
        let hasWork = (makesBytes || makesPicture) && backlog.admit(backlogged)
        // What is done here, and what the disk does.
        let parts = Parts(2, completion: completion)

        changes.change(&passage, reachesDisk: disk != nil) {
            if let disk, let readyData {
                disk.store(readyData, for: key.description, attributes: content.diskAttributes, completion: parts.end)
            } else {
                // What it held is out of date, although there is nothing yet to take its place.
                disk?.remove(for: key.description, completion: makesBytes && hasWork ? nil : parts.end)
            }
        }
        if disk == nil { parts.end() }
        if hasMemory {
            keep(content.image, for: key, content.attributes)
            // Two at the same time may have come to the disk in one order and to memory in the other.
            if changes.hasChanged(since: passage) { forget(key) }
        }
        guard hasWork else {
            _ = changes.end(passage)
            return parts.end()
        }
        DecodingQueue.shared.submit { [passage] in
            if let image = content.image {
                let isStaged = self.encode(image, content, for: key, passage, completion: parts.end)
                if !isStaged { parts.end() }
            } else {
                self.decode(content, for: key, passage, isOnDisk: disk != nil)
            }
            self.backlog.end(backlogged)
            parts.end()
        }
    }

    /// Whether the bytes are on their way to the disk; then `completion` is called at their arrival.
    private func encode(
        _ image: Image, _ content: NewContent, for key: ImageCacheKey,
        _ passage: ChangeMonitor<ImageCacheKey>.Passage, completion: @escaping @Sendable () -> Void
    ) -> Bool {
        var passage = passage
        var isStaged = false
        do throws(WebImageError) {
            let bytes = try bytes(of: image, data: content.data, for: key)
            // Who stored or removed something on the disk in the meantime has the last word.
            isStaged = changes.changeDiskIfUnchanged(&passage) {
                disk?.store(
                    bytes, for: key.description, attributes: content.diskAttributes, completion: completion)
            }
        } catch {
            report(error)
        }
        _ = changes.end(passage)
        return isStaged
    }

    private func decode(
        _ content: NewContent, for key: ImageCacheKey, _ passage: ChangeMonitor<ImageCacheKey>.Passage, isOnDisk: Bool
    ) {
        do throws(WebImageError) {
            let options = DecodingOptions(damage: .refuse, limits: configuration.decodingLimits)
            var image = try configuration.codecs.decode(content.data ?? Data(), options: options)
            if image.isAnimated { image.data = content.data }
            image.extendedData = content.attributes.extendedData
            let isCurrent = !changes.hasChanged(since: passage)
            if isCurrent { keep(image, for: key, content.attributes) }
            if changes.end(passage), isCurrent { forget(key) }
        } catch {
            giveUp(isOnDisk ? .disk : .caller, passage, error)
        }
    }

    // MARK: Memory

    /// Puts the picture into memory, or nothing in place of what is there.
    func keep(_ image: Image?, for key: ImageCacheKey, _ attributes: DiskCache.Attributes) {
        let firstFrameKey = key.firstFrame
        memory.remove(for: firstFrameKey)
        guard let image else {
            memory.remove(for: key)
            return
        }
        let expiration = attributes.expiration ?? disk?.configuration.expiration.unlessNever
        let (picture, keptKey) = kept(image, for: key)
        if keptKey != key { memory.remove(for: key) }
        memory.set(picture, for: keptKey, cost: picture.memoryCost, expiration: expiration)
    }

    /// What memory keeps of a picture, and under which key.
    func kept(_ image: Image, for key: ImageCacheKey) -> (Image, ImageCacheKey) {
        image.isAnimated && !configuration.allowsAnimated ? (image.firstFrame, key.firstFrame) : (image, key)
    }

    func forget(_ key: ImageCacheKey) {
        memory.remove(for: key)
        memory.remove(for: key.firstFrame)
    }

    private func take(
        _ key: ImageCacheKey, from tiers: Tiers, completion: @escaping @Sendable () -> Void
    ) {
        let disk = tiers.contains(.disk) ? disk : nil
        let parts = Parts(disk == nil ? 1 : 2, completion: completion)
        var passage = changes.begin(key)
        changes.change(&passage, reachesDisk: disk != nil) {
            for name in key.alternates { disk?.remove(for: name) }
            disk?.remove(for: key.description, completion: parts.end)
        }
        if tiers.contains(.memory) { forget(key) }
        _ = changes.end(passage)
        parts.end()
    }
}
