internal import Dispatch
public import FoundationEssentials
internal import WebImageCoding
public import WebImageCore

extension ImageCache {
    /// Stores an image, its bytes, or both. Returns immediately; look-ups find it from now on.
    ///
    /// Bytes go to disk unchanged. For an image without bytes, those it has kept are stored (an animation with all its
    /// frames). Otherwise it is encoded: in its own format if that can be written, else as PNG if it may be
    /// transparent, else as JPEG. Of an animation without bytes, or one that was changed, the first frame is encoded.
    /// The disk has nothing until encoding is finished.
    ///
    /// Bytes without an image are decoded for memory. A partial image is not stored: the call does nothing. Other tiers
    /// are not changed.
    ///
    /// At most 64 MiB of images and bytes wait to be encoded or decoded. What exceeds this is not encoded or decoded.
    /// The `async` overload has no such limit.
    ///
    /// - Parameters:
    ///   - image: stored in memory at the cost of its bytes.
    ///   - data: the bytes for this key. Do not pass an original's bytes for one of its variants.
    ///   - tiers: by default both for an original, and memory for a variant, which is stored on disk only if specified.
    ///   - attributes: the expiration, and data to be stored with the bytes. Their `extendedData`, or else the image's,
    ///     is stored with the image's scale.
    public func store(
        _ image: Image?, data: Data? = nil, for key: ImageCacheKey, in tiers: Tiers? = nil,
        attributes: DiskCache.Attributes = DiskCache.Attributes()
    ) {
        put(NewContent(image, data, attributes), for: key, in: tiers ?? .standard(for: key), isAwaited: false) {}
    }

    /// Like the overload above, but returns when the image is on disk (and bytes are decoded), or could not be stored.
    public func store(
        _ image: Image?, data: Data?, for key: ImageCacheKey, in tiers: Tiers, attributes: DiskCache.Attributes
    ) async {
        await withCheckedContinuation { continuation in
            put(NewContent(image, data, attributes), for: key, in: tiers, isAwaited: true) { continuation.resume() }
        }
    }

    /// Returns when everything stored before is on disk: bytes, images that are encoded first, and pixels.
    ///
    /// It also applies the limits of the disk, and tries its directory again after a failure. A program needs it only
    /// before it may be killed: when `main` returns, or `exit` is called, waiting changes are written, for which the
    /// program ends up to two seconds later.
    public func flush() async {
        await withCheckedContinuation { continuation in
            encodings.notify(queue: .global()) { continuation.resume() }
        }
        await pixels?.flush()
        await disk?.flush()
    }

    /// Replaces the attributes of the bytes on disk, if those are still `data`. Returns when this is on disk.
    public func update(_ attributes: DiskCache.Attributes, of data: Data, for key: ImageCacheKey) async {
        guard let disk else { return }
        await withCheckedContinuation { continuation in
            disk.update(attributes, of: BytesMark(data), for: key.description) { continuation.resume() }
        }
    }

    /// Removes the image. Returns immediately; look-ups find nothing from now on. Other variants are not removed. An
    /// image that a manager is loading meanwhile is stored when it arrives.
    public func remove(for key: ImageCacheKey, from tiers: Tiers = .all) { take(key, from: tiers) {} }

    /// Like the overload above, but returns when the image is removed from disk, or could not be removed.
    public func remove(for key: ImageCacheKey, from tiers: Tiers = .all) async {
        await withCheckedContinuation { continuation in take(key, from: tiers) { continuation.resume() } }
    }

    /// Removes everything except read-only files. Each ``CachedFile`` stays until its object is released.
    public func clear(_ tiers: Tiers = .all) async {
        await clear(tiers) { disk in await disk.removeAll() }
    }

    /// Removes everything except read-only files.
    ///
    /// - Parameter progress: called with the number of entries removed from disk, and of all, on a thread of the
    ///   library.
    func clear(
        _ tiers: Tiers = .all, progress: @escaping @Sendable (_ removed: Int, _ total: Int) -> Void
    ) async {
        await clear(tiers) { disk in await disk.removeAll(progress: progress) }
    }

    private func clear(_ tiers: Tiers, _ removeAll: (DiskCache) async -> Void) async {
        changes.changeAll(reachesDisk: tiers.contains(.disk))
        if tiers.contains(.memory) { memory.removeAll() }
        guard tiers.contains(.disk) else { return }
        guard let disk else { return await CachedFileStore.temporary.clear() }
        await removeAll(disk)
        await pixels?.removeAll()
        changes.changeAll()
        // Again, for values that look-ups had read before the disk was empty.
        if tiers.contains(.memory) { memory.removeAll() }
    }

    private func take(
        _ key: ImageCacheKey, from tiers: Tiers, completion: @escaping @Sendable () -> Void
    ) {
        let disk = tiers.contains(.disk) ? disk : nil
        var passage = changes.begin(key)
        changes.change(&passage, reachesDisk: disk != nil) {
            for other in key.alternates { disk?.remove(for: other.description) }
            disk?.remove(for: key.description)
        }
        if disk != nil, key.variant != nil { pixels?.remove(for: key.description) }
        if tiers.contains(.memory) { forget(key) }
        _ = changes.end(passage)
        if let disk, key.variant == nil { disk.serialQueue.submit { disk.files.removeAll(of: key.source) } }
        if let disk { disk.submitCompletion(completion) } else { completion() }
    }

    // MARK: Storing

    /// The content of a call of `store`.
    struct NewContent: Sendable {
        var image: Image?
        let data: Data?
        let attributes: DiskCache.Attributes

        init(_ image: Image?, _ data: Data?, _ attributes: DiskCache.Attributes) {
            self.image = image
            // An image that a program stores is not the response that it may once have come with.
            if !StoredProvenance.isKept { self.image?.provenance = nil }
            self.data = data
            self.attributes = attributes
            if let extendedData = attributes.extendedData { self.image?.extendedData = extendedData }
        }

        /// Whether there is something to store that is not partial.
        var isWhole: Bool { image.map { !$0.isPartial } ?? (data != nil) }

        /// The memory used while it waits.
        var byteCount: Int { (image?.memoryCost ?? 0) + (data?.count ?? 0) }

        /// The attributes stored on disk.
        var diskAttributes: DiskCache.Attributes {
            var attributes = attributes
            attributes.extendedData =
                ImageRecord(image, extendedData: attributes.extendedData ?? image?.extendedData).data
            return attributes
        }
    }

    /// - Parameters:
    ///   - isAwaited: whether the caller holds the content until `completion` is called.
    ///   - completion: called once, on this thread or another, when everything is done.
    func put(
        _ content: NewContent, for key: ImageCacheKey, in tiers: Tiers, isAwaited: Bool,
        completion: @escaping @Sendable () -> Void
    ) {
        guard content.isWhole else { return completion() }
        var passage = changes.begin(key)
        let disk = tiers.contains(.disk) ? disk : nil
        let hasMemory = tiers.contains(.memory)
        // An image that a program stores replaces the one that a manager has made.
        if key.variant != nil { pixels?.remove(for: key.description) }
        // Existing bytes that are stored unchanged need no work.
        let hasReadyData = content.image == nil || configuration.serializer == nil
        let readyData = hasReadyData ? content.data ?? content.image?.originalData : nil
        let makesBytes = disk != nil && readyData == nil && content.image != nil
        let makesImage = hasMemory && content.image == nil && content.data != nil
        let share = makesBytes || makesImage ? backlog.holdIfPossible(isAwaited ? 0 : content.byteCount) : nil
        let end = { @Sendable in
            // The disk writes in order, so everything staged before is on disk then.
            if let disk { disk.submitCompletion(completion) } else { completion() }
        }

        changes.change(&passage, reachesDisk: disk != nil) {
            if let disk, let readyData {
                disk.store(readyData, for: key.description, attributes: content.diskAttributes)
            } else {
                // The stored bytes are out of date, even though their replacement is not ready.
                disk?.remove(for: key.description)
            }
        }
        if hasMemory {
            keep(content.image, for: key, content.attributes)
            // Two concurrent stores may have reached the disk in one order and memory in the other.
            if changes.hasChanged(since: passage) { forget(key) }
        }
        guard let share else {
            _ = changes.end(passage)
            return end()
        }
        ProgramEnd.beginWork()
        encodings.enter()
        DecodingQueue.shared.submit { [passage, encodings] in
            if let image = content.image {
                self.encode(image, content, for: key, passage)
            } else {
                self.decode(content, for: key, passage, isOnDisk: disk != nil)
            }
            share.settle(0)
            encodings.leave()
            ProgramEnd.endWork()
            end()
        }
    }

    private func encode(
        _ image: Image, _ content: NewContent, for key: ImageCacheKey,
        _ passage: ChangeMonitor<ImageCacheKey>.Passage
    ) {
        var passage = passage
        do throws(WebImageError) {
            let bytes = try bytes(of: image, data: content.data, for: key)
            // A change of the disk in the meantime takes precedence.
            _ = changes.changeDiskIfUnchanged(&passage) {
                disk?.store(bytes, for: key.description, attributes: content.diskAttributes)
            }
        } catch {
            report(error)
        }
        _ = changes.end(passage)
    }

    private func decode(
        _ content: NewContent, for key: ImageCacheKey, _ passage: ChangeMonitor<ImageCacheKey>.Passage, isOnDisk: Bool
    ) {
        do throws(WebImageError) {
            let options = DecodingOptions(allowsDamage: false, limits: configuration.decodingLimits)
            var image = try configuration.codecs.decode(content.data ?? Data(), options: options)
            if image.isAnimated { image.data = content.data }
            image.extendedData = content.attributes.extendedData
            let isCurrent = !changes.hasChanged(since: passage)
            if isCurrent { keep(image, for: key, content.attributes) }
            if changes.end(passage), isCurrent { forget(key) }
        } catch {
            discard(isOnDisk ? .disk : .memory, passage, error)
            _ = changes.end(passage)
        }
    }

    // MARK: Encoding

    /// Returns the bytes to store for an image: `data`, or those the image kept, or else the encoded image.
    private func bytes(of image: Image, data: Data?, for key: ImageCacheKey) throws(WebImageError) -> Data {
        let bytes = data ?? image.originalData
        if let serialized = configuration.serializer?(image, bytes, key) { return serialized }
        if let bytes { return bytes }
        return try configuration.codecs.encodedForStorage(image, quality: configuration.encodingQuality)
    }
}

extension CodecRegistry {
    func encodedForStorage(_ image: Image, quality: Double) throws(WebImageError) -> Data {
        try withFormatForStorage(of: image) { (format) throws(WebImageError) in
            try encode(image, as: format, options: EncodingOptions(quality: quality))
        }
    }

    /// Calls `body` with the image's own format if that can be written and holds it, else with PNG if pixels may be transparent or the image
    /// is animated, else with JPEG.
    func withFormatForStorage<Result>(
        of image: Image, _ body: (ImageFormat) throws(WebImageError) -> Result
    ) throws(WebImageError) -> Result {
        let standard: ImageFormat = !image.pixels.isOpaque || image.animation != nil ? .png : .jpeg
        if let format = image.format, format != standard, holds(image, format) {
            do throws(WebImageError) {
                return try body(format)
            } catch .encoding(_, let reason) where reason.isAboutFormat {
                // Another format may work.
            }
        }
        return try body(standard)
    }

    /// JPEG has no alpha. GIF has few colors, so it is used for animations only.
    private func holds(_ image: Image, _ format: ImageFormat) -> Bool {
        switch format {
        case .jpeg: image.pixels.isOpaque
        case .gif: image.animation != nil
        default: true
        }
    }
}

extension WebImageError.EncodingFailure {
    fileprivate var isAboutFormat: Bool {
        switch self {
        case .noEncoder, .tooLarge, .noAnimation: true
        case .frameNumber, .tooLong, .invalidMetadata, .metadataTooLong, .codec: false
        }
    }
}
