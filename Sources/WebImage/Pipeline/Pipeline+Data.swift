import FoundationEssentials
import WebImageCaching
import WebImageCore
import WebImageLoading

extension Pipeline {
    /// Joins the work for an answer of any kind, or starts it; `handler` may be called before this returns.
    ///
    /// What changes something on the server is nobody else's: it is done for each caller.
    func joinData(
        for context: LoadContext, trace: TraceRecorder, handler: @escaping SharedWork<LoadedBytes>.Handler
    ) -> (any WorkStep)? {
        let method = context.call?.method ?? .get
        if method == .get || method == .head {
            return joinBytes(
                for: context, sources: context.byteSources, priority: context.request.priority, trace: trace,
                handler: handler)
        }
        let work = SharedWork<LoadedBytes> { _ in }
        trace.include(work.trace)
        let subscription = work.subscribe(priority: context.request.priority, handler: handler)
        pass(context, into: work)
        return subscription
    }

    /// Past the cache; what it has of the URLs that were changed is out of date then.
    private func pass(_ context: LoadContext, into work: SharedWork<LoadedBytes>) {
        guard context.request.cachePolicy != .cacheOnly, context.request.cachePolicy != .offline else {
            return work.finish(.failure(.notInCache(key: context.key.source)))
        }
        let start = ContinuousClock.now
        let load = BytesLoad(
            work, storage: bodyStorage(for: context), minimumProgressInterval: minimumProgressInterval,
            budget: undecoded, now: now
        ) { [self] answer in
            work.trace.note(.transfer, since: start, .answered(answer, conditions: []))
            invalidate(after: answer, to: context, work.trace)
            work.finish(
                answer.body.map { data in
                    LoadedBytes(
                        data, head: answer.head, metrics: answer.metrics, record: ResponseRecord(nil),
                        arrival: Arrival(disk: .none, isForMemory: false, requestHeaders: []),
                        share: undecoded.hold(answer.isInFile ? 0 : data.count))
                })
        }
        work.run { priority in
            let task = context.loader.load(context.loaderRequest, priority: priority) { load.receive($0) }
            load.attach(task)
            return LoaderStep(task: task)
        }
    }

    private func invalidate(after answer: LoaderAnswer, to context: LoadContext, _ trace: TraceRecorder) {
        guard let head = answer.head, let method = context.call?.method else { return }
        let urls = urlsChanged(by: method, of: context.request.url, head)
        guard !urls.isEmpty else { return }
        trace.note(.store, .invalidated(count: Set(urls).count))
        for url in Set(urls) {
            var request = context.request
            request.url = url
            // What is stored for everybody, and what is stored for whoever has changed it.
            var plain = WebImageRequest(url)
            plain.cacheKeyFilter = request.cacheKeyFilter
            for source in Set([plain.cacheKey.source, request.cacheKey.source]) {
                let key = ImageCacheKey(source: source)
                supersedeAll(of: source)
                originals.apply(ImageCache.OriginalChange(nil, removed: key.alternates), for: key)
            }
        }
    }

    /// What is out of date after an answer to a method that changes things: also where redirects were on the way, which are
    /// answers to it themselves (the usual end of a form is 303). With its body incomplete, it has changed things all the same.
    private func urlsChanged(by method: LoaderRequest.Method, of url: URL, _ head: LoaderResponse) -> [URL] {
        var urls: [URL] = []
        for (index, redirect) in head.redirects.enumerated() {
            urls += HTTPCachePolicy.urlsInvalidated(
                byMethod: method.rawValue, of: index == 0 ? url : redirect.url, statusCode: redirect.statusCode,
                headers: redirect.headers)
            // What follows is no more than a look at the result.
            if redirect.statusCode == 303 || method == .post && [301, 302].contains(redirect.statusCode) {
                return urls
            }
        }
        return urls
            + HTTPCachePolicy.urlsInvalidated(
                byMethod: method.rawValue, of: head.redirects.isEmpty ? url : head.url,
                statusCode: head.statusCode ?? 0, headers: head.headers)
    }
}
