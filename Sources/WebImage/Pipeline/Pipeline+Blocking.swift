import WebImageCaching
import WebImageCoding
import WebImageCore

extension Pipeline {
    /// The picture made of what the disk has, on this thread, which blocks for as long as that takes; `nil` where the disk has
    /// nothing, nothing sound, or is not to be asked. What is damaged is left to the loads that don't block.
    func responseFromDisk(for context: LoadContext) -> WebImageResponse? {
        guard context.queriesDiskCache, context.takesAnyAge,
            !context.request.options.contains(.ignoreDecoding)
        else { return nil }
        let watches = [cache.watch(context.key), originals.watch(context.key.original)]
        guard let data = originals.cachedData(for: context.key.original, in: .disk)?.data else { return nil }
        let cancellation = Cancellation()
        let options = context.decodingOptions(self, damage: .refuse, cancellation: cancellation)
        guard var image = try? codecs.decode(data, options: options) else { return nil }
        for processor in context.request.processors {
            guard let processed = try? process(image, with: processor, context, cancellation) else { return nil }
            image = processed
        }
        if let kept = pictureToKeep(image, context, isWanted: context.storesInMemory) {
            cache.keepVariant(kept, for: context.key, expiration: nil, since: watches)
            noteVariant(kept, context)
        }
        return WebImageResponse(image: image, url: context.request.url, origin: .diskCache, data: data)
    }
}
