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
        if let (image, size) = smallest(of: found, for: context.request.thumbnail) {
            scale(image, to: size, into: work, context, since: watches, preview)
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
    func anyVariantInMemory(of context: LoadContext) -> Image? {
        variantsInMemory(of: context).map(\.image).filter { isForRequest($0, context) }.max {
            $0.pixels.size.pixelCount < $1.pixels.size.pixelCount
        }
    }

    /// Remembers what memory was given.
    func noteVariant(_ image: Image?, _ context: LoadContext) {
        guard reusesVariants, let image, image.animation == nil, context.request.processors.isEmpty else { return }
        let options = context.request.options
        variants.note(
            VariantIndex.Entry(
                key: context.key, size: image.pixels.size,
                isStretched: context.request.thumbnail?.mode == .stretch && image.isThumbnail,
                isFirstFrame: options.contains(.firstFrameOnly)))
    }

    private func variantsInMemory(of context: LoadContext) -> [(image: Image, entry: VariantIndex.Entry)] {
        variants.entries(of: context.key.source).compactMap { entry in
            guard entry.key != context.key, !entry.isStretched,
                !entry.isFirstFrame || context.request.options.contains(.firstFrameOnly)
            else { return nil }
            guard let image = cache.image(inMemoryFor: entry.key), image.animation == nil else {
                variants.forget(entry)
                return nil
            }
            return (image, entry)
        }
    }

    /// The smallest that is large enough, and the size to bring it to.
    private func smallest(
        of found: [(image: Image, entry: VariantIndex.Entry)], for thumbnail: Thumbnail?
    ) -> (Image, PixelSize)? {
        let sufficient = found.compactMap { image, _ in
            image.sizeServing(thumbnail).map { (image, $0) }
        }
        return sufficient.min { $0.0.pixels.size.pixelCount < $1.0.pixels.size.pixelCount }
    }

    private func scale(
        _ larger: Image, to size: PixelSize, into work: SharedWork<WebImageResponse>, _ context: LoadContext,
        since watches: [ImageCache.Watch], _ preview: Preview
    ) {
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
                    if let kept = pictureToKeep(image, context, isWanted: work.isResultWanted) {
                        cache.keepVariant(kept, for: context.key, expiration: nil, since: watches)
                        noteVariant(kept, context)
                    }
                    storeVariant(image, context, expiration: nil)
                    counters.change { $0.reusedVariants += 1 }
                    work.finish(
                        .success(WebImageResponse(image: image, url: context.request.url, origin: .memoryCache)))
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

extension Image {
    /// The size that a thumbnail of the same file would have; `nil` when this picture has too few pixels for it, or does not
    /// tell.
    fileprivate func sizeServing(_ thumbnail: Thumbnail?) -> PixelSize? {
        // The whole picture under another key, as with another scale.
        guard let thumbnail, thumbnail.isBounded else { return isThumbnail ? nil : pixels.size }
        guard isThumbnail else { return thumbnail.targetSize(of: pixels.size) }
        // The file's size is not known, only its proportions: what would enlarge this one may not be all there is.
        let size = thumbnail.mode.size(of: pixels.size, in: thumbnail.size, allowsUpscaling: true)
        return size.width <= width && size.height <= height ? size : nil
    }
}
