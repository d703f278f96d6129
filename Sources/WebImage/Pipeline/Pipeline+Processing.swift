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
        let watches = (result: cache.watch(context.key), original: cache.watch(context.key.original))
        work.run { priority in
            join(input, priority: priority, wantsResult: false, trace: work.trace) { [self] event in
                switch event {
                case .progress(let progress): work.report(progress)
                case .attempts(let attempts): work.report(attempts)
                case .bytes: break
                case .provisional(let response, let number):
                    guard preview.begin(with: response.image.provenance, number: number) else { return }
                    work.runBeside(about: number) { priority in
                        process(
                            response, with: processor, for: work, context, since: [watches.result, watches.original],
                            priority: priority
                        ) { result in
                            switch result {
                            case .success(let result):
                                work.report(provisional: result)
                                let isEnd = preview.finishMaking(result, with: response.image.provenance)
                                if isEnd { work.finish(.success(result.unchanged)) }
                            case .failure(let error):
                                if preview.giveUp(response.image.provenance) { work.finish(.failure(error)) }
                            }
                        }
                    }
                case .finished(.success(let response)):
                    switch preview.end(with: response.image.provenance) {
                    case .unchanged(let response): return work.finish(.success(response.unchanged))
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
                result.image = try processor.process(response.image, cancellation: cancellation)
                try cancellation.check()
                result.image.provenance = response.image.provenance
                result.isUnchanged = false
                work.trace.note(.process, since: start, .processed(processor.identifier.description))
                if work.isResultWanted, !result.image.isPartial, result.isForMemory {
                    cache.keepVariant(
                        result.image, for: context.key, expiration: result.expiration, since: watches)
                }
                completion(.success(result))
            } catch {
                work.trace.note(.process, since: start, .failed(error))
                completion(.failure(error))
            }
        }
        return QueuedStep(item: item, cancellation: cancellation)
    }
}
