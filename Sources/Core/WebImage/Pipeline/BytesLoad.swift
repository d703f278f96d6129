import FoundationEssentials
import WebImageCaching
import WebImageCore
import WebImageLoading

/// The work of a bytes job: what is stored, by the request's cache policy, or what a loader brings.
///
/// ```
/// start ─► arrived before? ─────────────────────────────────────────────────────────► finish
///               └─► read disk ─► decide ─┬─► serve ─────────────────────────────────► finish
///                                        ├─► serve and revalidate ─► provisional ─┐
///                                        ├─► revalidate ──────────────────────────┤
///                                        ├─► load ────────────────────────────────┤
///                                        └─► fail ─► finish                       ▼
///                                                       call the loader ─┬─► 304 ──────────► finish
///                                                                        └─► new ─► store ─► finish
/// ```
final class BytesLoad: Sendable {
    let pipeline: Pipeline
    let job: Job<LoadedBytes, LoadNews>
    let context: LoadContext
    let rules: AnswerRules
    let trace = TraceRecorder()
    let key: BytesJobKey
    private let history = LoadHistory()

    init(_ pipeline: Pipeline, _ job: Job<LoadedBytes, LoadNews>, _ context: LoadContext, _ key: BytesJobKey) {
        self.pipeline = pipeline
        self.job = job
        self.context = context
        self.key = key
        rules = pipeline.rules(for: context)
    }

    var originals: any PipelineCache { pipeline.originals }
    private var sources: ByteSources { key.sources }
    /// A response to such a request has no body, and updates what is stored.
    var isForHead: Bool { context.request.method == .head }

    func start() {
        job.report(.trace(trace))
        pipeline.headerVariety.inspect(context.request, trace, pipeline.configuration.log)
        if let bytes = pipeline.unstored[key] {
            trace.note(.transfer, .arrivedBefore(byteCount: bytes.data.count))
            return job.finish(.success(bytes))
        }
        guard sources.contains(.disk), originals.hasDisk else { return startWithoutDisk() }
        job.run { priority in
            pipeline.undecoded.admit(priority: priority) { [self] share in read(share) }
        }
    }

    private func startWithoutDisk() {
        if rules.policy == .reload {
            trace.note(.policy, .decided(.load(because: .policyRequiresServer), rules.policy))
        } else {
            trace.note(.disk, .noDisk)
        }
        guard sources.contains(.loader) else { return failAsMissing() }
        // The request itself may allow only what is stored (only-if-cached).
        guard rules.policy == .http, case .fail = rules.decide([], now: pipeline.now) else {
            return callLoader(nil, stored: nil)
        }
        failAsMissing()
    }

    private func failAsMissing() { job.finish(.failure(.notInCache(key: context.key.source))) }

    private func read(_ share: ByteBudget.Share) {
        let start = BootTime.now
        job.run { priority in
            originals.readResponses(
                of: context.key, priority: priority, isEnough: { [rules] in rules.isForRequest($0) }
            ) {
                [self] stored in
                share.settle(stored.reduce(0) { $0 + $1.data.count })
                trace.note(
                    .disk, since: start,
                    .diskRead(
                        answerCount: stored.count, byteCount: stored.first?.data.count,
                        cache: pipeline.diskName))
                answer(from: stored, share)
            }
        }
    }

    private func answer(from stored: [StoredImage], _ share: ByteBudget.Share) {
        let decision = rules.decide(stored.responses, now: pipeline.now)
        trace.note(.policy, .decided(decision, rules.policy))
        switch decision {
        case .serve(let index, _):
            finish(with: bytes(stored[index], share))
        case .serveAndRevalidate(let index, let revalidation, _):
            let bytes = bytes(stored[index], share)
            // A stored error is no image.
            if stored[index].response?.isSuccess ?? true { job.report(provisional: bytes) }
            let standsIn = rules.policy == .http || revalidation.mayServeOnError
            callLoader(CachedCopy(bytes: bytes, revalidation: revalidation, standsIn: standsIn), stored: stored)
        case .revalidate(let index, let revalidation, _):
            callLoader(
                CachedCopy(
                    bytes: bytes(stored[index], share), revalidation: revalidation,
                    standsIn: revalidation.mayServeOnError), stored: stored)
        case .load:
            if sources.contains(.loader) { callLoader(nil, stored: stored) } else { failAsMissing() }
        case .fail:
            failAsMissing()
        }
    }

    private func bytes(_ stored: StoredImage, _ share: ByteBudget.Share) -> LoadedBytes {
        share.settle(stored.data.count)
        let record = pipeline.record(of: stored.response, source: context.key.source)
        return LoadedBytes(stored.data, stored: stored, record: record, share: share)
    }

    /// Ends with stored bytes.
    private func finish(with bytes: LoadedBytes) {
        if let response = bytes.stored?.response, rules.requiresImage, !response.isSuccess {
            return job.finish(.failure(.httpStatus(code: response.statusCode, url: context.request.url)))
        }
        job.finish(.success(bytes))
    }

    // MARK: Calling the loader

    /// A stored response, and the request that revalidates it.
    private struct CachedCopy {
        let bytes: LoadedBytes
        let revalidation: HTTPCachePolicy.Revalidation
        /// Whether the bytes are the result if the server does not respond.
        let standsIn: Bool
    }

    private func callLoader(_ copy: CachedCopy?, stored: [StoredImage]?) {
        guard sources.contains(.loader) else { return failAsMissing() }
        if let veto = job.loadingVeto() { return refuse(veto, copy) }
        let conditions = copy?.revalidation.conditions ?? []
        // Only a HEAD request changes stored responses other than its own.
        let stored = isForHead ? stored : stored?.map(\.withoutBytes)
        let request = request(with: conditions)
        let url = context.request.address.bareURL
        let start = BootTime.now
        let receiver = BodyReceiver(
            pipeline, job, trace, url, storage: storage, history: history
        ) { [self] answer in
            var answer = answer
            answer.isFromAlternative = answer.url != url
            let loader = answer.isFromAlternative ? pipeline.loaders.loader(for: answer.url) : context.loader
            answer.isCacheable = loader?.isCacheable(answer.url) ?? true
            trace.note(.transfer, since: start, .answered(AnswerNote(answer, conditions: conditions)))
            pipeline.invalidate(after: answer, to: context, trace)
            receive(answer, copy, stored)
        }
        job.run { priority in receiver.load(request, with: pipeline.loader(for: context), priority: priority) }
    }

    private func request(with conditions: [HTTPHeader]) -> LoaderRequest {
        var request = pipeline.loaderRequest(for: context)
        history.attach(to: &request)
        request.bypassesSharedCache = sources.contains(.serverOnly)
        for condition in conditions { request.headers[condition.name] = condition.value }
        // Caches on the way follow the policy too.
        let directive: String? =
            switch context.request.cachePolicy {
            case .reload: "no-cache"
            case .refresh: "max-age=0"
            default: nil
            }
        if let directive, !request.hasHeader("cache-control"), context.loader.isCacheable(request.url) {
            request.headers["Cache-Control"] = directive
        }
        return request
    }

    /// Bodies that are files already need no temporary file.
    private var storage: BodyStorage { pipeline.bodyStorage(for: context) }

    private func refuse(_ veto: WebImageError, _ copy: CachedCopy?) {
        guard let copy, copy.standsIn else { return job.finish(.failure(veto)) }
        trace.note(.validation, .standsIn)
        finish(with: copy.bytes)
    }

    // MARK: The answer

    private func receive(_ answer: LoaderAnswer, _ copy: CachedCopy?, _ stored: [StoredImage]?) {
        if case .failure(.cancelled) = answer.body { return job.finish(.failure(.cancelled)) }
        if let copy {
            if let response = copy.bytes.stored?.response {
                switch validation(of: response, copy, answer) {
                case .confirmed(let response): return confirm(copy.bytes, response, answer, stored)
                case .unconfirmed:
                    trace.note(.validation, .unconfirmed)
                    return callLoader(nil, stored: stored)
                case .usableDespiteError, .replaced: break
                }
            }
            if answer.isServerTrouble, copy.standsIn {
                trace.note(.validation, .standsIn)
                return finish(with: copy.bytes)
            }
        }
        guard case .success(let data) = answer.body, !answer.isConfirmation || !rules.requiresImage else {
            return fail(answer, stored)
        }
        if isForHead { update(stored, byHead: answer) }
        finish(with: data, answer, stored)
    }

    private func validation(
        of response: CachedResponse, _ copy: CachedCopy, _ answer: LoaderAnswer
    ) -> HTTPCachePolicy.ValidationResult {
        // It is about another file if the redirects have changed.
        if answer.isConfirmation, answer.finalURL != response.finalURL { return .unconfirmed }
        return HTTPCachePolicy.validate(
            response, copy.revalidation, statusCode: answer.statusCode, headers: answer.head?.headers ?? [],
            requestTime: answer.requestTime, responseTime: answer.responseTime)
    }

    private func confirm(
        _ bytes: LoadedBytes, _ response: CachedResponse, _ answer: LoaderAnswer, _ stored: [StoredImage]?
    ) {
        var response = response
        answer.redirectRule.apply(to: &response)
        let obstacle = rules.storageObstacle(to: response)
        response.isReusable = obstacle == nil
        bytes.record.update(response)
        trace.note(.validation, .confirmed)
        if let original = bytes.stored {
            if let obstacle, obstacle.forbidsDisk {
                trace.note(.store, .notStored(obstacle))
                originals.apply(.remove(withAlternates: stored?.dependOnRequest ?? true), for: context.key)
            } else if context.storesOnDisk {
                originals.update(original, responseMetadata: response.encoded)
            }
        }
        finish(with: bytes.confirmed(by: answer))
    }
}

extension Pipeline {
    func bodyStorage(for context: LoadContext) -> BodyStorage {
        var storage = configuration.bodyStorage
        let url = context.request.url
        // Most others that are not cacheable are in memory already. Files may have any length.
        if !context.loader.isCacheable(url), !url.isFileURL { storage.memoryByteLimit = .max }
        return storage
    }
}
