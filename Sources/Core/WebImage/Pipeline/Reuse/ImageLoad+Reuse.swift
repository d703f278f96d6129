import WebImageCaching
import WebImageCoding
import WebImageCore
import WebImageProcessing

/// Uses images in memory in another size.
///
/// ```
///  wanted ≤ cached ──► scaled down ──► memory ──► requests       no disk, no loader
///  wanted > cached ──► preview, while the wanted size is loaded
/// ```
/// Only stills without processors are used, and no stretched thumbnails. The cache policy must accept them as it would
/// accept an image of the wanted size: the provenance is the same.
extension ImageLoad {
    /// Starts to make the image from a larger one in memory; returns `false` if there is none. A smaller one is
    /// reported as a preview.
    func reuseLarger() -> Bool {
        guard pipeline.configuration.reusesVariants, context.queriesMemory, context.request.pixelByteLimit == nil,
            context.request.page == nil, !context.request.keepsColors, pipeline.mayHaveVariants(of: context)
        else { return false }
        let watches = [cache.watch(context.key), pipeline.originals.watch(context.key.original)]
        let found = pipeline.variantsInMemory(of: context).filter { pipeline.mayAnswer($0.image, context) }
        let sufficient = found.compactMap { image, entry in
            entry.sizeServing(context.request.thumbnail).map { (image, entry.key, $0) }
        }
        if let larger = sufficient.min(by: { $0.0.pixels.size.pixelCount < $1.0.pixels.size.pixelCount }) {
            scale(larger, since: watches)
            return true
        }
        if !preview.hasPicture,
            let largest = found.map(\.image).max(by: { $0.pixels.size.pixelCount < $1.pixels.size.pixelCount })
        {
            var substitute = response(largest, .memoryCache)
            substitute.previewKind = .otherSize
            job.report(provisional: substitute)
        }
        return false
    }

    private func scale(_ larger: (image: Image, key: ImageCacheKey, size: PixelSize), since watches: [Watch]) {
        let (larger, key, size) = larger
        // It expires with what it is made from.
        let expiration = cache.expirationInMemory(for: key)
        job.run { priority in
            pipeline.decodingQueue.run(priority: priority) { [self] cancellation in
                let start = BootTime.now
                do throws(WebImageError) {
                    var image = larger
                    image.pixels = try larger.pixels.resampled(to: size, cancellation: cancellation)
                    try cancellation.check()
                    trace.note(.process, since: start, .reused(from: larger.pixels.size, to: size))
                    image.isThumbnail = larger.isThumbnail || size != larger.pixels.size
                    image.scale = context.request.resolvedScale
                    image.data = nil
                    image.provenance = pipeline.provenance(ofImageMadeFrom: larger, context)
                    let kept = pipeline.imageToKeep(image, context, isWanted: job.isResultWanted)
                    if let kept {
                        cache.insert(
                            kept, for: context.key, expiration: expiration, isStored: false, unlessChangedSince: watches
                        )
                        pipeline.noteVariant(kept, context)
                    }
                    var response = response(image, .memoryCache)
                    response.variantStore = storeVariant(image, expiration: expiration)
                    storePixels(kept, isRepeated: false)
                    response.isReduced = true
                    response.expiration = expiration
                    job.finish(.success(response))
                } catch {
                    // The failure of one size is not that of another: the image is made from the file instead.
                    guard error != .cancelled else { return job.finish(.failure(error)) }
                    load(from: context.byteSources)
                }
            }
        }
    }
}

extension Pipeline {
    /// Returns the largest image of the source in memory without processors.
    func largestInMemory(of context: LoadContext) -> Image? {
        let others = variantsInMemory(of: context).map(\.image)
        return ([latestInMemory(for: context, counting: .none)].compactMap { $0 } + others).filter {
            isForRequest($0, context)
        }.max {
            $0.pixels.size.pixelCount < $1.pixels.size.pixelCount
        }
    }

    /// Notes an image that memory holds now. A loaded original needs no note: its key follows from that of a variant.
    func noteVariant(_ image: Image?, _ context: LoadContext) {
        guard configuration.reusesVariants, let image, image.animation == nil, context.request.processors.isEmpty,
            context.request.page == nil, !context.request.keepsColors,
            context.key.variant != nil || image.provenance == nil
        else { return }
        let options = context.request.options
        variants.note(
            VariantIndex.Entry(
                key: context.key, size: image.pixels.size, isWhole: !image.isThumbnail,
                isStretched: context.request.thumbnail?.mode == .stretch && image.isThumbnail,
                isFirstFrame: options.contains(.firstFrameOnly)))
    }

    /// Whether memory may have other sizes. Most loads find out here that there are none.
    fileprivate func mayHaveVariants(of context: LoadContext) -> Bool {
        context.key.variant != nil && cache.isInMemory(context.key.original)
            || !variants.entries(of: context.key.source).isEmpty
    }

    func variantsInMemory(of context: LoadContext) -> [(image: Image, entry: VariantIndex.Entry)] {
        let others = stillsInMemory(of: context)
        guard context.key.variant != nil,
            let original = cache.image(
                inMemoryFor: context.key.original, allowsAnimated: cache.holdsAnimations, counting: .none,
                where: { $0.provenance != nil }),
            original.animation == nil
        else { return others }
        let entry = VariantIndex.Entry(
            key: context.key.original, size: original.pixels.size, isWhole: !original.isThumbnail, isStretched: false,
            isFirstFrame: false)
        return others + [(original, entry)]
    }

    private func stillsInMemory(of context: LoadContext) -> [(image: Image, entry: VariantIndex.Entry)] {
        variants.entries(of: context.key.source).compactMap { entry in
            guard entry.key != context.key, !entry.isStretched,
                !entry.isFirstFrame || context.request.options.contains(.firstFrameOnly)
            else { return nil }
            // A program may have stored another image since.
            let image = cache.image(
                inMemoryFor: entry.key, allowsAnimated: cache.holdsAnimations, counting: .none, where: { _ in true })
            guard let image, image.animation == nil, image.pixels.size == entry.size else {
                variants.forget(entry)
                return nil
            }
            return (image, entry)
        }
    }
}

extension VariantIndex.Entry {
    /// Returns the size that a thumbnail of the same file has; `nil` if this image has too few pixels for it, or does
    /// not tell.
    fileprivate func sizeServing(_ thumbnail: Thumbnail?) -> PixelSize? {
        // The whole image under another key, such as that of another scale.
        guard let thumbnail, thumbnail.isBounded else { return isWhole ? size : nil }
        guard !isWhole else { return thumbnail.targetSize(of: size) }
        // Only the proportions of the file are known, and those of a thin image are not exact.
        guard min(size.width, size.height) >= Self.leastTellingSide else { return nil }
        // The file may have more pixels than this image.
        let target = thumbnail.mode.size(of: size, in: thumbnail.size, allowsUpscaling: true)
        return target.width <= size.width && target.height <= size.height ? target : nil
    }

    /// In pixels. Rounding to whole pixels changes the proportions of longer sides by less than 1 in 32.
    private static let leastTellingSide = 16
}

/// The sizes of each source that were put into memory, so that one can serve for another.
///
/// It stores keys, not images. An entry whose image memory has dropped is removed when it is looked up.
final class VariantIndex: Sendable {
    /// A still as it was decoded, without processors.
    struct Entry: Hashable, Sendable {
        let key: ImageCacheKey
        let size: PixelSize
        /// Whether it has all pixels of the file.
        let isWhole: Bool
        /// Whether its aspect ratio differs from that of the file.
        let isStretched: Bool
        /// Whether the file may have more frames.
        let isFirstFrame: Bool
    }

    private struct Source {
        var entries: [Entry] = []
        /// The number of the last entry noted for it.
        var number = 0

        mutating func note(_ entry: Entry, number: Int) {
            self.number = number
            if !entries.isEmpty { entries.removeAll { $0.key == entry.key } }
            if entries.count >= VariantIndex.entryLimit { entries.removeFirst() }
            entries.append(entry)
        }
    }

    private struct State {
        var sources: [KeyText: Source] = [:]
        var lastNumber = 0
    }

    private let state = Lock(State())

    /// The maximum number of sizes of one source, and of sources. Beyond them, the oldest are removed.
    static let (entryLimit, sourceLimit) = (8, 10_000)

    func note(_ entry: Entry) {
        state.withLock { state in
            state.lastNumber += 1
            let key = KeyText(entry.key.source)
            state.sources[key, default: Source()].note(entry, number: state.lastNumber)
            guard state.sources.count > Self.sourceLimit else { return }
            // Removes a tenth at once, because finding the oldest entries means looking at all.
            let newest = state.lastNumber - Self.sourceLimit * 9 / 10
            state.sources = state.sources.filter { $0.value.number > newest }
        }
    }

    func entries(of source: String) -> [Entry] {
        state.withLock { $0.sources.isEmpty ? [] : $0.sources[KeyText(source)]?.entries ?? [] }
    }

    func forget(_ entry: Entry) {
        state.withLock { state in
            let key = KeyText(entry.key.source)
            state.sources[key]?.entries.removeAll { $0 == entry }
            if state.sources[key]?.entries.isEmpty == true { state.sources[key] = nil }
        }
    }
}
