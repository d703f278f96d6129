import FoundationEssentials
import WebImageCaching
import WebImageCore
import WebImageLoading

/// Variants that are stored as pixels on disk, which are read without decoding.
extension ImageLoad {
    /// Reads the image, or makes it.
    func readPixels() {
        let start = BootTime.now
        job.run { priority in
            cache.readPixels(of: context.key, priority: priority) { [self] stored in
                guard let stored, let image = pipeline.image(stored, context, isWanted: job.isResultWanted) else {
                    return makeOrReadVariant()
                }
                trace.note(.disk, since: start, .pixelsRead(image.pixels.size))
                var response = response(image, .diskCache)
                response.expiration = stored.expiration
                job.finish(.success(response))
            }
        }
    }

    /// Notes what identifies the bytes, if a variant made from them may be stored.
    func noteMark(of bytes: LoadedBytes) {
        guard cache.base is ImageCache, pipeline.hasOneCache, bytes.record.mark == nil else { return }
        if let mark = bytes.stored?.mark {
            bytes.record.mark = mark
        } else if context.usesPixels || !job.isResultWanted {
            // A checksum takes 7 µs for 100 KB. Without a result, a processor makes something else of the image.
            bytes.record.mark = BytesMark(bytes.data)
        }
    }

    /// Stores a variant, if it is for a view or likely to be needed again.
    ///
    /// - Parameters:
    ///   - image: what memory keeps; `nil` if nothing.
    ///   - isRepeated: whether the original was loaded before.
    func storePixels(_ image: Image?, isRepeated: Bool) {
        guard let image, isRepeated || context.request.keepsPixels == true, pipeline.hasOneCache, context.usesPixels,
            let record = image.provenance as? ResponseRecord, let mark = record.mark
        else { return }
        if let response = record.response,
            pipeline.rules(for: context).storageObstacle(to: response)?.forbidsDisk == true
        {
            return
        }
        cache.storePixels(image, madeFrom: mark, for: context.key)
    }
}

extension Pipeline {
    /// Returns the image if the request's policy accepts its original, and puts it into memory.
    func image(_ stored: StoredPixels, _ context: LoadContext, isWanted: Bool = true) -> Image? {
        let response = CachedResponse(encoded: stored.original.responseMetadata)
        guard case .serve = rules(for: context).decide([response], now: now) else { return nil }
        var image = stored.image
        let record = record(of: response, source: context.key.source)
        record.mark = stored.originalMark
        image.provenance = record
        if isWanted {
            cache.insert(
                image, for: context.key, expiration: stored.expiration, isStored: true,
                unlessChangedSince: stored.watches)
            noteVariant(image, context)
        }
        return image
    }
}
