import FoundationEssentials
import WebImageCaching
import WebImageCore
import WebImageLoading

/// What becomes of a picture that is ready, besides its delivery.
extension Pipeline {
    /// The picture for memory; `nil` when it is not to have any.
    ///
    /// - Parameter isWanted: whether somebody asked for this very picture, and wants it kept.
    func pictureToKeep(_ image: Image, _ context: LoadContext, isWanted: Bool) -> Image? {
        guard isWanted, !image.isPartial else { return nil }
        guard let willCache = hooks.willCache else { return image }
        return willCache(image, context.request)
    }

    /// The bytes for the disk where the request wants others than those that came.
    func bytesInstead(of data: Data, of image: Image, _ context: LoadContext) -> Data? {
        guard !context.request.hasStandardDetails, let serializer = context.request.details.serializer,
            let rewritten = serializer(image, data, context.key.original), rewritten != data
        else { return nil }
        return rewritten
    }

    /// Begins to store a variant on disk if its request wants that.
    func storeVariant(_ image: Image, _ context: LoadContext, expiration: CacheExpiration?) {
        guard !context.request.hasStandardDetails, context.storesVariantOnDisk, !image.isPartial else { return }
        let key = context.key
        // The bytes of an animation are those of its original, in whatever size it is: it is made of that again.
        guard image.animation == nil else { return }
        let response = (image.provenance as? ResponseRecord)?.response
        // What the server wants written nowhere is not written in another form.
        if let response, rules(for: context).storageObstacle(to: response)?.forbidsDisk == true { return }
        let metadata = response.map { ResponseMetadata(response: $0).encoded }
        let data = context.request.details.serializer?(image, nil, key)
        variantStores.begin(key)
        cache.storeVariant(image, data: data, for: key, expiration: expiration, responseMetadata: metadata) {
            [variantStores] in
            variantStores.end(key)
        }
    }

    /// Calls `body` once all that was stored for `context` so far is on disk: at once, or on another thread.
    func whenStored(_ context: LoadContext, _ body: @escaping @Sendable () -> Void) {
        let key = context.key
        originals.whenWritten { [variantStores] in variantStores.whenDone(key, body) }
    }
}
