import WebImageCaching
import WebImageCoding
import WebImageCore

/// What memory has of a picture in another size.
///
/// ```
///  wanted ≤ cached ──► scaled down ──► memory ──► requests       no disk, no loader
///  wanted > cached ──► preview, while the wanted size is loaded
/// ```
/// Stills alone, from before any processor: those work on what this finds. Stretched thumbnails serve nobody else. A picture of
/// another size answers, or is shown, where one of the very size might answer: its provenance is the same.
extension Pipeline {
    /// Begins to make the picture from a larger one in memory; `false` where there is none. A smaller one is told as a
    /// preview.
    ///
    /// - Parameter preview: knows whether a picture of the very size is shown already.
    func reuse(_ work: SharedWork<WebImageResponse>, _ context: LoadContext, _ preview: Preview) -> Bool {
        guard reusesVariants, context.queriesMemory, context.request.pixelByteLimit == nil,
            !variants.entries(of: context.key.source).isEmpty
        else { return false }
        let watches = [cache.watch(context.key), originals.watch(context.key.original)]
        let found = variantsInMemory(of: context).filter { mayAnswer($0.image, context) }
        if let larger = smallest(of: found, for: context.request.thumbnail) {
            scale(larger, into: work, context, since: watches, preview)
            return true
        }
        if !preview.hasPicture,
            let largest = found.map(\.image).max(by: { $0.pixels.size.pixelCount < $1.pixels.size.pixelCount })
        {
            var standIn = WebImageResponse(image: largest, url: context.request.url, origin: .memoryCache)
            standIn.previewKind = .otherSize
            work.report(provisional: standIn)
        }
        return false
    }

    /// The largest picture of that source in memory, whatever its size, as long as nothing was made of it.
    func largestInMemory(of context: LoadContext) -> Image? {
        let others = variantsInMemory(of: context).map(\.image)
        return ([latestInMemory(for: context, counting: [])].compactMap { $0 } + others).filter {
            isForRequest($0, context)
        }.max {
            $0.pixels.size.pixelCount < $1.pixels.size.pixelCount
        }
    }

    /// Remembers what memory was given.
    func noteVariant(_ image: Image?, _ context: LoadContext) {
        guard reusesVariants, let image, image.animation == nil, context.request.processors.isEmpty else { return }
        let options = context.request.options
        variants.note(
            VariantIndex.Entry(
                key: context.key, size: image.pixels.size, isWhole: !image.isThumbnail,
                isStretched: context.request.thumbnail?.mode == .stretch && image.isThumbnail,
                isFirstFrame: options.contains(.firstFrameOnly)))
    }

    private func variantsInMemory(of context: LoadContext) -> [(image: Image, entry: VariantIndex.Entry)] {
        variants.entries(of: context.key.source).compactMap { entry in
            guard entry.key != context.key, !entry.isStretched,
                !entry.isFirstFrame || context.request.options.contains(.firstFrameOnly)
            else { return nil }
            // Of a picture that a program has put in its place nothing is known.
            let allowsAnimated = cache.configuration.allowsAnimated
            guard let image = cache.image(inMemoryFor: entry.key, allowsAnimated: allowsAnimated, counting: []),
                image.animation == nil, image.pixels.size == entry.size
            else {
                variants.forget(entry)
                return nil
            }
            return (image, entry)
        }
    }

    /// A picture in memory, and the size to bring it to.
    private typealias Larger = (image: Image, key: ImageCacheKey, size: PixelSize)

    /// The smallest that is large enough.
    private func smallest(
        of found: [(image: Image, entry: VariantIndex.Entry)], for thumbnail: Thumbnail?
    ) -> Larger? {
        let sufficient = found.compactMap { image, entry in
            entry.sizeServing(thumbnail).map { (image, entry.key, $0) }
        }
        return sufficient.min { $0.0.pixels.size.pixelCount < $1.0.pixels.size.pixelCount }
    }

    private func scale(
        _ larger: Larger, into work: SharedWork<WebImageResponse>, _ context: LoadContext,
        since watches: [ImageCache.Watch], _ preview: Preview
    ) {
        let (larger, key, size) = larger
        // It is as old as what it is made of.
        let expiration = cache.memory.expiration(for: key)
        work.run { priority in
            let cancellation = Cancellation()
            let item = decodingQueue.submit(priority: priority) { [self] in
                let start = ContinuousClock.now
                do throws(WebImageError) {
                    var image = larger
                    image.pixels = try larger.pixels.resampled(to: size, cancellation: cancellation)
                    try cancellation.check()
                    work.trace.note(.process, since: start, .reused(from: larger.pixels.size, to: size))
                    image.isThumbnail = larger.isThumbnail || size != larger.pixels.size
                    image.scale = context.request.resolvedScale
                    image.data = nil
                    image.provenance = provenance(ofWhatIsMadeOf: larger, context)
                    if let kept = pictureToKeep(image, context, isWanted: work.isResultWanted) {
                        cache.keepVariant(kept, for: context.key, expiration: expiration, since: watches)
                        noteVariant(kept, context)
                    }
                    storeVariant(image, context, expiration: expiration)
                    var response = WebImageResponse(image: image, url: context.request.url, origin: .memoryCache)
                    response.isReduced = true
                    response.expiration = expiration
                    work.finish(.success(response))
                } catch {
                    // One size's failure is not another's: it is made of the file instead.
                    guard error != .cancelled else { return work.finish(.failure(error)) }
                    load(work, context, from: context.byteSources, preview)
                }
            }
            return QueuedStep(item: item, cancellation: cancellation)
        }
    }
}

extension VariantIndex.Entry {
    /// The size that a thumbnail of the same file would have; `nil` when this picture has too few pixels for it, or does not
    /// tell.
    fileprivate func sizeServing(_ thumbnail: Thumbnail?) -> PixelSize? {
        // The whole picture under another key, as with another scale.
        guard let thumbnail, thumbnail.isBounded else { return isWhole ? size : nil }
        guard !isWhole else { return thumbnail.targetSize(of: size) }
        // The file's size is not known, only its proportions, and of a thin picture not even those.
        guard min(size.width, size.height) >= Self.leastTellingSide else { return nil }
        // What would enlarge this one may not be all there is.
        let target = thumbnail.mode.size(of: size, in: thumbnail.size, allowsUpscaling: true)
        return target.width <= size.width && target.height <= size.height ? target : nil
    }

    /// In pixels: sides are rounded to whole ones, which changes the proportions of longer ones by less than 1 in 32.
    private static let leastTellingSide = 16
}
