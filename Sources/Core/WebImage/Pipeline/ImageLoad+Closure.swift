import WebImageCaching
import WebImageCoding
import WebImageCore
import WebImageProcessing

extension ImageLoad {
    /// Gets the image from the request's closure, scales it down to the requested size, and stores it in memory.
    func callClosure(of provider: RequestProvider, _ sources: ByteSources) {
        guard sources.contains(.loader) else { return job.finish(.failure(.notInCache(key: context.key.description))) }
        if let veto = job.loadingVeto() { return job.finish(.failure(veto)) }
        let (start, watch) = (BootTime.now, cache.watch(context.key))
        job.run { priority in
            provider.loadImage(priority: priority) { [self] result in
                switch result {
                case .success(let image):
                    trace.note(.transfer, since: start, .provided)
                    finish(with: image, watch)
                case .failure(let error):
                    trace.note(.transfer, since: start, .failed(error))
                    job.finish(.failure(error))
                }
            }
        }
    }

    private func finish(with provided: Image, _ watch: Watch) {
        job.run { priority in
            pipeline.decodingQueue.run(priority: priority) { [self] cancellation in
                do throws(WebImageError) {
                    var image = provided
                    let size = provided.pixels.size
                    if let thumbnail = context.request.thumbnail, thumbnail.isBounded, image.animation == nil,
                        thumbnail.targetSize(of: size) != size
                    {
                        image.pixels = try image.pixels.resampled(
                            to: thumbnail.targetSize(of: size), cancellation: cancellation)
                        image.isThumbnail = true
                    }
                    try cancellation.check()
                    if let scale = context.request.chosenScale { image.scale = scale }
                    let isWanted = job.isResultWanted
                    if let kept = pipeline.imageToKeep(image, context, isWanted: isWanted) {
                        cache.insert(
                            kept, for: context.key, expiration: nil, isStored: false, unlessChangedSince: [watch])
                        pipeline.noteVariant(kept, context)
                    }
                    var response = response(image, .remote)
                    response.variantStore = storeVariant(image, expiration: nil)
                    job.finish(.success(response))
                } catch {
                    job.finish(.failure(error))
                }
            }
        }
    }
}
