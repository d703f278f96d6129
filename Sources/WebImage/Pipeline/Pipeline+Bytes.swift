import FoundationEssentials
import WebImageCaching
import WebImageCore
import WebImageLoading

extension Pipeline {
    /// Joins the work for the bytes, or starts it; `handler` may be called before this returns.
    ///
    /// - Parameters:
    ///   - trace: includes what the work notes.
    ///   - objection: asked before the loader is, once the disk has missed; see ``SharedWork``.
    func joinBytes(
        for context: LoadContext, sources: ByteSources, priority: LoadPriority, trace: TraceRecorder? = nil,
        objection: SharedWork<LoadedBytes>.Objection? = nil, handler: @escaping SharedWork<LoadedBytes>.Handler
    ) -> (any WorkStep)? {
        bytes.join(
            context.bytesKey(sources: sources), priority: priority, trace: trace, objection: objection,
            handler: handler
        ) { work in
            BytesFetch(self, work, context, sources: sources).start()
        }
    }

    /// How stored answers count for a request.
    ///
    /// - Parameter comparesHeaders: `false` where no answer varies, so that what the loader adds to the request's fields need
    ///   not be known.
    func rules(for context: LoadContext, comparesHeaders: Bool = true) -> AnswerRules {
        let headers =
            comparesHeaders
            ? context.loader.requestHeaders(for: loaderRequest(for: context))
            : context.request.headers.map { HTTPField(name: $0.key, value: $0.value) }
        return rules(for: context, headers: headers)
    }

    /// - Parameter headers: as they go out.
    func rules(for context: LoadContext, headers: [HTTPField]) -> AnswerRules {
        AnswerRules(
            policy: context.request.cachePolicy,
            request: HTTPCachePolicy.Request(method: (context.call?.method ?? .get).rawValue, headers: headers),
            usesCookieJar: context.request.options.contains(.handleCookies), wantsPicture: context.call == nil)
    }

    /// What the loader is asked for, before anything is known of what is stored.
    func loaderRequest(for context: LoadContext) -> LoaderRequest {
        var request = context.loaderRequest
        if context.call == nil, !request.hasHeader("accept") { request.headers["Accept"] = codecs.acceptHeader }
        return request
    }

    /// What the loader is asked for.
    ///
    /// - Parameters:
    ///   - request: as ``loaderRequest(for:)`` makes it.
    ///   - conditions: those under which the server need not send what is stored.
    func complete(_ request: LoaderRequest, for context: LoadContext, conditions: [HTTPField]) -> LoaderRequest {
        var request = request
        for condition in conditions { request.headers[condition.name] = condition.value }
        // Caches on the way are to ask as well.
        let wish: String? =
            switch context.request.cachePolicy {
            case .reload: "no-cache"
            case .refresh: "max-age=0"
            default: nil
            }
        if let wish, !request.hasHeader("cache-control"), context.loader.isCacheable(request.url) {
            request.headers["Cache-Control"] = wish
        }
        return request
    }

    /// A second copy on the disk would do nobody good.
    func bodyStorage(for context: LoadContext) -> BodyStorage {
        var storage = bodyStorage
        if !context.loader.isCacheable(context.request.url) { storage.memoryByteLimit = .max }
        return storage
    }
}

extension LoaderRequest {
    /// - Parameter name: in lower case.
    fileprivate func hasHeader(_ name: String) -> Bool { headers.keys.contains { $0.lowercased() == name } }
}
