import WebImageCaching
import WebImageCoding
import WebImageCore
import WebImageProcessing

extension Pipeline {
    /// Joins the work for the picture that the processor works on, and processes that.
    func process(
        _ work: SharedWork<WebImageResponse>, _ context: LoadContext, with processor: any ImageProcessor,
        input: LoadContext
    ) {
        let watches = (result: cache.watch(context.key), original: cache.watch(context.key.original))
        work.run { priority in
            join(input, priority: priority, wantsResult: false) { [self] event in
                switch event {
                case .progress(let progress): work.report(progress)
                case .bytes: break
                case .provisional(let response, _):
                    processPreview(response, with: processor, into: work, context)
                case .finished(.success(let response)):
                    // What a loader has just brought has changed the original itself.
                    let isNew = response.origin != .diskCache && response.origin != .memoryCache
                    process(
                        response, with: processor, into: work, context,
                        since: isNew ? [watches.result] : [watches.result, watches.original])
                case .finished(.failure(let error)): work.finish(.failure(error))
                }
            }
        }
    }

    /// - Parameter watches: of the result's key and of what it is made from, from before either was looked for.
    private func process(
        _ response: WebImageResponse, with processor: any ImageProcessor, into work: SharedWork<WebImageResponse>,
        _ context: LoadContext, since watches: [ImageCache.Watch]
    ) {
        work.run { priority in
            let cancellation = Cancellation()
            let item = decodingQueue.submit(priority: priority) { [self] in
                do throws(WebImageError) {
                    var response = response
                    response.image = try process(response.image, with: processor, context, cancellation)
                    try cancellation.check()
                    if let kept = pictureToKeep(response.image, context, isWanted: work.isResultWanted) {
                        cache.keepVariant(kept, for: context.key, expiration: response.expiration, since: watches)
                    }
                    storeVariant(response.image, context, expiration: response.expiration)
                    work.finish(.success(response))
                } catch {
                    work.finish(.failure(error))
                }
            }
            return QueuedStep(item: item, cancellation: cancellation)
        }
    }

    /// The processed picture, or the same where the manager leaves such pictures alone.
    func process(
        _ image: Image, with processor: any ImageProcessor, _ context: LoadContext, _ cancellation: Cancellation
    ) throws(WebImageError) -> Image {
        guard !context.request.details.untouched.contains(image) else { return image }
        return try processor.process(image, cancellation: cancellation)
    }
}
