import WebImageCaching
import WebImageCoding
import WebImageCore
import WebImageLoading

extension ImageLoad {
    /// Makes the image from the result of another job: the same request without its last processor.
    func process(with processor: ImageProcessor, input: LoadContext) {
        let watch = cache.watch(context.key)
        let originalWatch = pipeline.originals.watch(context.key.original)
        let previews = context.request.options.previews.map { _ in ProcessedPreviews(for: self, with: processor) }
        job.run { priority in
            pipeline.join(
                input, priority: priority, needsResult: false, veto: { self.job.loadingVeto() }
            ) { [self] event in
                switch event {
                case .news(let news): forward(news)
                case .provisional(let response, let number):
                    switch response.previewKind {
                    case .stored: show(response, number, with: processor, since: [watch, originalWatch])
                    case .arriving: preview.cover { previews?.show(response) }
                    case .otherSize: break
                    }
                case .finished(.success(let response)):
                    finish(with: response, processor, watch, originalWatch)
                case .finished(.failure(let error)): job.finish(.failure(error))
                }
            }
        }
    }

    /// Processes a stored image as a preview.
    private func show(
        _ response: WebImageResponse, _ number: Int, with processor: ImageProcessor, since watches: [Watch]
    ) {
        guard preview.begin(with: response.image.provenance, number: number) else { return }
        job.runBeside { priority in
            process(response, with: processor, since: watches, priority: priority) { [self] result in
                switch result {
                case .success(let response):
                    job.report(provisional: response)
                    if preview.finishMaking(response) { job.finish(.success(response.unchanged)) }
                case .failure(let error):
                    if preview.failMaking() { job.finish(.failure(error)) }
                }
                preview.update()
            }
        }
    }

    private func finish(
        with response: WebImageResponse, _ processor: ImageProcessor, _ watch: Watch, _ originalWatch: Watch
    ) {
        switch preview.end(with: response.image.provenance) {
        case .made(let response): return job.finish(.success(response))
        case .awaited: return
        case .other: break
        }
        // A new response has itself changed the original since.
        let isNew = response.origin != .diskCache && response.origin != .memoryCache
        job.run { priority in
            process(
                response, with: processor, since: isNew ? [watch] : [watch, originalWatch], priority: priority
            ) { [self] result in
                job.finish(result)
            }
        }
    }

    private func process(
        _ response: WebImageResponse, with processor: ImageProcessor, since watches: [Watch],
        priority: LoadPriority, completion: @escaping @Sendable (Result<WebImageResponse, WebImageError>) -> Void
    ) -> any LoaderTask {
        pipeline.decodingQueue.run(priority: priority) { [self] cancellation in
            let start = BootTime.now
            do throws(WebImageError) {
                var result = response
                result.image = try pipeline.process(response.image, with: processor, context, cancellation)
                try cancellation.check()
                result.image.provenance = pipeline.provenance(ofImageMadeFrom: response.image, context)
                result.isUnchanged = false
                trace.note(.process, since: start, .processed(processor.identifier.description))
                let isWanted = job.isResultWanted && result.isForMemory
                let kept = pipeline.imageToKeep(result.image, context, isWanted: isWanted)
                if let kept {
                    cache.insert(
                        kept, for: context.key, expiration: result.expiration, isStored: false,
                        unlessChangedSince: watches)
                }
                result.variantStore = storeVariant(result.image, expiration: result.expiration)
                storePixels(kept, isRepeated: response.origin == .diskCache)
                completion(.success(result))
            } catch {
                trace.note(.process, since: start, .failed(error))
                completion(.failure(error))
            }
        }
    }
}

extension Pipeline {
    func process(
        _ image: Image, with processor: ImageProcessor, _ context: LoadContext, _ cancellation: Cancellation
    ) throws(WebImageError) -> Image {
        guard !context.request.details.untouched.contains(image) else { return image }
        return try image.processed(by: [processor], cancellation: cancellation)
    }
}
