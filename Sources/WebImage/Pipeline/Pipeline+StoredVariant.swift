import WebImageCaching
import WebImageCoding
import WebImageCore

extension Pipeline {
    /// Looks on the disk for the very picture that is asked for, and makes it where there is none, or none that is sound.
    func readVariant(_ work: SharedWork<WebImageResponse>, _ context: LoadContext) {
        let watch = cache.watch(context.key)
        work.run { priority in
            let item = cache.readVariant(of: context.key, priority: priority) { [self] stored in
                if let stored {
                    decode(stored, into: work, context, watch)
                } else {
                    make(work, context)
                }
            }
            return item.map { QueuedStep(item: $0) }
        }
    }

    private func decode(
        _ stored: ImageCache.StoredOriginal, into work: SharedWork<WebImageResponse>, _ context: LoadContext,
        _ watch: ImageCache.Watch
    ) {
        work.run { priority in
            let cancellation = Cancellation()
            let limits = context.request.details.decodingLimits ?? decodingLimits
            // It has the size that was asked for already.
            let options = DecodingOptions(damage: .refuse, limits: limits, cancellation: cancellation)
            let item = decodingQueue.submit(priority: priority) { [self] in
                do throws(WebImageError) {
                    var image = try codecs.decode(stored.data, options: options)
                    try cancellation.check()
                    stored.describe(&image)
                    if let kept = pictureToKeep(image, context, isWanted: work.isResultWanted) {
                        cache.promote(kept, for: context.key, from: stored, since: watch)
                    }
                    var response = WebImageResponse(
                        image: image, url: context.request.url, origin: .diskCache, data: stored.data)
                    response.expiration = stored.expiration
                    work.finish(.success(response))
                } catch {
                    giveUp(stored, because: error, work, context)
                }
            }
            return QueuedStep(item: item, cancellation: cancellation)
        }
    }

    private func giveUp(
        _ stored: ImageCache.StoredOriginal, because error: WebImageError, _ work: SharedWork<WebImageResponse>,
        _ context: LoadContext
    ) {
        switch error {
        case .decoding, .unrecognizedFormat:
            cache.discard(stored, because: error)
            make(work, context)
        default:
            work.finish(.failure(error))
        }
    }
}
