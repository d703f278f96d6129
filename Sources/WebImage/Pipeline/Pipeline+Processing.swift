import WebImageCaching
import WebImageCoding
import WebImageCore
import WebImageProcessing

extension Pipeline {
    /// Joins the work for the picture that the processor works on, and processes that.
    func process(
        _ work: SharedWork<WebImageResponse>, _ context: LoadContext, with processor: any ImageProcessor,
        input: LoadContext, _ preview: Preview
    ) {
        let watches = (result: cache.watch(context.key), original: originals.watch(context.key.original))
        let previews = processPreviews(for: work, context, with: processor)
        work.run { priority in
            join(
                input, priority: priority, wantsResult: false, trace: work.trace,
                objection: { work.objectionToLoading() }
            ) { [self] event in
                switch event {
                case .progress(let progress): work.report(progress)
                case .loading(let activity): work.report(activity)
                case .attempts(let attempts): work.report(attempts)
                case .bytes: break
                case .provisional(let response, let number):
                    switch response.previewKind {
                    case .stored:
                        show(
                            response, number, with: processor, in: work, context,
                            since: [watches.result, watches.original],
                            preview)
                    case .arriving:
                        preview.cover { previews?.show(response) }
                    // Lengths that suit one size don't suit another.
                    case .otherSize: break
                    }
                case .finished(.success(let response)):
                    switch preview.end(with: response.image.provenance) {
                    case .made(let response): return work.finish(.success(response))
                    case .awaited: return
                    case .other: break
                    }
                    // What a loader has just brought has changed the original itself.
                    let isNew = response.origin != .diskCache && response.origin != .memoryCache
                    let watches = isNew ? [watches.result] : [watches.result, watches.original]
                    work.run { priority in
                        process(response, with: processor, for: work, context, since: watches, priority: priority) {
                            work.finish($0)
                        }
                    }
                case .finished(.failure(let error)): work.finish(.failure(error))
                }
            }
        }
    }

    /// Processes a stored picture beside the wait for the server.
    private func show(
        _ response: WebImageResponse, _ number: Int, with processor: any ImageProcessor,
        in work: SharedWork<WebImageResponse>, _ context: LoadContext, since watches: [ImageCache.Watch],
        _ preview: Preview
    ) {
        guard preview.begin(with: response.image.provenance, number: number) else { return }
        work.runBeside { priority in
            process(response, with: processor, for: work, context, since: watches, priority: priority) { result in
                switch result {
                case .success(let response):
                    work.report(provisional: response)
                    let isEnd = preview.finishMaking(response)
                    if isEnd { work.finish(.success(response.unchanged)) }
                case .failure(let error):
                    if preview.giveUp() { work.finish(.failure(error)) }
                }
                preview.goOn()
            }
        }
    }

    /// - Parameters:
    ///   - watches: of the result's key and of what it is made from, from before either was looked for.
    ///   - completion: called on a thread for decoding.
    private func process(
        _ response: WebImageResponse, with processor: any ImageProcessor, for work: SharedWork<WebImageResponse>,
        _ context: LoadContext, since watches: [ImageCache.Watch], priority: LoadPriority,
        completion: @escaping @Sendable (Result<WebImageResponse, WebImageError>) -> Void
    ) -> any WorkStep {
        let cancellation = Cancellation()
        let item = decodingQueue.submit(priority: priority) { [self] in
            let start = ContinuousClock.now
            do throws(WebImageError) {
                var result = response
                result.image = try process(response.image, with: processor, context, cancellation)
                try cancellation.check()
                result.image.provenance = provenance(ofWhatIsMadeOf: response.image, context)
                result.isUnchanged = false
                work.trace.note(.process, since: start, .processed(processor.identifier.description))
                let isWanted = work.isResultWanted && result.isForMemory
                if let kept = pictureToKeep(result.image, context, isWanted: isWanted) {
                    cache.keepVariant(kept, for: context.key, expiration: result.expiration, since: watches)
                }
                storeVariant(result.image, context, expiration: result.expiration)
                completion(.success(result))
            } catch {
                work.trace.note(.process, since: start, .failed(error))
                completion(.failure(error))
            }
        }
        return QueuedStep(item: item, cancellation: cancellation)
    }

    /// The processed picture, or the same where the manager leaves such pictures alone.
    func process(
        _ image: Image, with processor: any ImageProcessor, _ context: LoadContext, _ cancellation: Cancellation
    ) throws(WebImageError) -> Image {
        guard !context.request.details.untouched.contains(image) else { return image }
        return try processor.process(image, cancellation: cancellation)
    }
}
