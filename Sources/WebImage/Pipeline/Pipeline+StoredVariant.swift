import WebImageCaching
import WebImageCoding
import WebImageCore
import WebImageLoading

extension Pipeline {
    /// Looks on the disk for the very picture that is asked for, and makes it where there is none, or none that is sound.
    func readVariant(_ work: SharedWork<WebImageResponse>, _ context: LoadContext, _ preview: Preview) {
        let watch = cache.watch(context.key)
        let start = ContinuousClock.now
        work.run { priority in
            let item = cache.readVariant(of: context.key, priority: priority) { [self] stored in
                if let stored, let record = record(ofVariant: stored, context) {
                    work.trace.note(.disk, since: start, .variantRead(byteCount: stored.data.count))
                    decode(stored, of: record, into: work, context, watch, preview)
                } else {
                    make(work, context, preview)
                }
            }
            return item.map { QueuedStep(item: $0) }
        }
    }

    /// What is known of the answer that a variant was made of; `nil` where it answered another request, or the disk has a
    /// newer one. It blocks on the disk.
    private func record(ofVariant stored: ImageCache.StoredOriginal, _ context: LoadContext) -> ResponseRecord? {
        let response = stored.responseMetadata.flatMap(ResponseMetadata.init(encoded:))?.response
        guard case .serve = rules(for: context).decide([response], now: now()) else { return nil }
        let original = originals.disk?.cachedEntry(for: context.key.original.description)
        if let original, isOutOfDate(stored, response, original) { return nil }
        return record(of: response, source: context.key.source)
    }

    /// Whether a variant was made of bytes that others have replaced.
    private func isOutOfDate(
        _ stored: ImageCache.StoredOriginal, _ response: StoredResponse?, _ original: DiskCache.Entry
    ) -> Bool {
        switch (response, original.responseMetadata.flatMap(ResponseMetadata.init(encoded:))?.response) {
        case (let response?, let newest?):
            response.bodyNumber != newest.bodyNumber && response.isOlder(than: newest)
        // Of both nothing is known: a variant is written after its original.
        case (nil, nil): stored.created < original.created
        // One came from a server, the other from a program.
        case (_?, nil), (nil, _?): true
        }
    }

    private func decode(
        _ stored: ImageCache.StoredOriginal, of record: ResponseRecord, into work: SharedWork<WebImageResponse>,
        _ context: LoadContext, _ watch: ImageCache.Watch, _ preview: Preview
    ) {
        work.run { priority in
            let cancellation = Cancellation()
            let limits = context.request.details.decodingLimits ?? decodingLimits
            // It has the size that was asked for already.
            let options = DecodingOptions(damage: .refuse, limits: limits, cancellation: cancellation)
            let item = decodingQueue.submit(priority: priority) { [self] in
                let start = ContinuousClock.now
                do throws(WebImageError) {
                    var image = try codecs.decode(stored.data, options: options)
                    try cancellation.check()
                    work.trace.note(.decode, since: start, .decoded(image))
                    stored.describe(&image)
                    image.provenance = record
                    if let kept = pictureToKeep(image, context, isWanted: work.isResultWanted) {
                        cache.promote(kept, for: context.key, from: stored, since: watch)
                    }
                    var response = WebImageResponse(
                        image: image, url: context.request.url, origin: .diskCache, data: stored.data)
                    response.expiration = stored.expiration
                    work.finish(.success(response))
                } catch {
                    work.trace.note(.decode, since: start, .failed(error))
                    giveUp(stored, because: error, work, context, preview)
                }
            }
            return QueuedStep(item: item, cancellation: cancellation)
        }
    }

    private func giveUp(
        _ stored: ImageCache.StoredOriginal, because error: WebImageError, _ work: SharedWork<WebImageResponse>,
        _ context: LoadContext, _ preview: Preview
    ) {
        switch error {
        case .decoding, .unrecognizedFormat:
            cache.discard(stored, because: error)
            make(work, context, preview)
        default:
            work.finish(.failure(error))
        }
    }
}
