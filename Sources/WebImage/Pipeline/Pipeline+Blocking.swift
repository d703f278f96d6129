import FoundationEssentials
import WebImageCaching
import WebImageCoding
import WebImageCore
import WebImageLoading

extension Pipeline {
    /// The picture made of what the disk has, on this thread, which blocks for as long as that takes; `nil` where the disk has
    /// nothing, nothing sound, or is not to be asked. What is damaged is left to the loads that don't block.
    func responseFromDisk(for context: LoadContext, trace: TraceRecorder? = nil) -> WebImageResponse? {
        guard context.queriesDiskCache, !context.request.options.contains(.ignoreDecoding) else { return nil }
        let start = ContinuousClock.now
        let watches = [cache.watch(context.key), originals.watch(context.key.original)]
        let rules = rules(for: context)
        let answers = StoredAnswers(
            originals.cachedOriginal(of: context.key), for: context.key.original.description, in: originals
        ) { rules.isForRequest($0) }
        guard case .serve(let index, _) = rules.decide(answers.candidates.map(\.response), now: now()),
            let stored = answers.original(at: index)
        else { return nil }
        trace?.note(
            .disk, since: start, .diskRead(answerCount: answers.candidates.count, byteCount: stored.data.count))
        let cancellation = Cancellation()
        let options = context.decodingOptions(self, damage: .refuse, cancellation: cancellation)
        guard var image = try? wholePicture(of: stored.data, context, options: options) else { return nil }
        if context.key.variant == nil { stored.describe(&image) }
        let record = record(of: answers.candidates[index].response, source: context.key.source)
        for processor in context.request.processors where processor.identifier != .identity {
            guard let processed = try? process(image, with: processor, context, cancellation) else { return nil }
            image = processed
        }
        image.provenance = record
        if let kept = pictureToKeep(image, context, isWanted: context.storesInMemory) {
            cache.keepVariant(kept, for: context.key, expiration: stored.expiration, since: watches)
            noteVariant(kept, context)
        }
        return WebImageResponse(image: image, url: context.request.url, origin: .diskCache, data: stored.data)
    }

    /// The bytes that a picture in memory was made of, if they are what the disk has; blocks on the disk where Vary tells
    /// several answers apart.
    ///
    /// - Parameter stored: the latest answer.
    func bytes(of image: Image, from stored: ImageCache.StoredOriginal?, _ context: LoadContext) -> Data? {
        let response = (image.provenance as? ResponseRecord)?.response
        let answers = StoredAnswers(stored, for: context.key.original.description, in: originals) {
            $0?.bodyNumber == response?.bodyNumber
        }
        let index = answers.candidates.firstIndex { $0.response?.bodyNumber == response?.bodyNumber }
        return index.flatMap { answers.original(at: $0)?.data }
    }
}
