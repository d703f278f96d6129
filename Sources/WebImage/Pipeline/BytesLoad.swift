import FoundationEssentials
import WebImageCaching
import WebImageCore
import WebImageLoading

/// The work of a bytes job: what is stored, by the request's cache policy, or what a loader brings.
///
/// ```
///  start ─► arrived? ─► admitted ─► read disk ─► decide ─┬─► serve ─────────────────────────────────────► finish
///                                            ├─► serve and revalidate: provisional ─┐
///                                            ├─► revalidate ────────────────────────┼─► ask the loader ─► 304 ─► finish
///                                            ├─► load ──────────────────────────────┘        └─► new ─► store ─► finish
///                                            └─► fail ──────────────────────────────────────► finish
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

    func start() {
        job.report(LoadNews(trace: trace))
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
            trace.note(.policy, .decided(.load(because: .policyWantsServer), rules.policy))
        } else {
            trace.note(.disk, .noDisk)
        }
        guard sources.contains(.loader) else { return giveUp() }
        // The request itself may want nothing but what is stored (only-if-cached).
        guard rules.policy == .http, case .fail = rules.decide([], now: pipeline.now) else {
            return ask(nil, stored: nil)
        }
        giveUp()
    }

    private func giveUp() { job.finish(.failure(.notInCache(key: context.key.source))) }

    private func read(_ share: ByteBudget.Share) {
        let start = ContinuousClock.now
        job.run { priority in
            originals.readResponses(
                of: context.key, priority: priority, isEnough: { [rules] in rules.isForRequest($0) }
            ) {
                [self] stored in
                share.settle(stored.reduce(0) { $0 + $1.data.count })
                trace.note(
                    .disk, since: start, .diskRead(answerCount: stored.count, byteCount: stored.first?.data.count))
                answer(from: stored, share)
            }
        }
    }

    private func answer(from stored: [StoredImage], _ share: ByteBudget.Share) {
        let decision = rules.decide(stored.responses, now: pipeline.now)
        trace.note(.policy, .decided(decision, rules.policy))
        switch decision {
        case .serve(let index, _):
            finish(with: bytes(stored[index], share), stored[index].record.response)
        case .serveAndRevalidate(let index, let revalidation, _):
            let (bytes, response) = (bytes(stored[index], share), stored[index].record.response)
            // A stored error is no image.
            if response.map(\.isSuccess) ?? true { job.report(provisional: bytes) }
            let standsIn = rules.policy == .http || revalidation.mayServeOnError
            ask(
                Question(bytes: bytes, response: response, revalidation: revalidation, standsIn: standsIn),
                stored: stored)
        case .revalidate(let index, let revalidation, _):
            ask(
                Question(
                    bytes: bytes(stored[index], share), response: stored[index].record.response,
                    revalidation: revalidation, standsIn: revalidation.mayServeOnError), stored: stored)
        case .load:
            if sources.contains(.loader) { ask(nil, stored: stored) } else { giveUp() }
        case .fail:
            giveUp()
        }
    }

    private func bytes(_ stored: StoredImage, _ share: ByteBudget.Share) -> LoadedBytes {
        share.settle(stored.data.count)
        let record = pipeline.record(of: stored.record.response, source: context.key.source)
        return LoadedBytes(stored, record: record, share: share)
    }

    private func finish(with bytes: LoadedBytes, _ response: StoredResponse?) {
        if let response, rules.wantsImage, !response.isSuccess {
            return job.finish(.failure(.httpStatus(code: response.statusCode, url: context.request.url)))
        }
        job.finish(.success(bytes))
    }

    // MARK: Asking the loader

    /// A stored response that the server is asked about.
    private struct Question {
        let bytes: LoadedBytes
        let response: StoredResponse?
        let revalidation: HTTPCachePolicy.Revalidation
        /// Whether the bytes are the result if the server cannot answer.
        let standsIn: Bool
    }

    private func ask(_ question: Question?, stored: [StoredImage]?) {
        guard sources.contains(.loader) else { return giveUp() }
        if let objection = job.objectionToLoading() { return refuse(objection, question) }
        let conditions = question?.revalidation.conditions ?? []
        // Only a HEAD request changes stored responses other than the one it asks about.
        let stored = rules.request.method == "HEAD" ? stored : stored?.map(\.withoutBytes)
        let request = request(with: conditions)
        let url = request.url.separatedFromUserInfo.url
        let start = ContinuousClock.now
        let receiver = BodyReceiver(
            pipeline, job, trace, url, storage: storage, history: history
        ) { [self] answer in
            var answer = answer
            answer.isFromAlternative = answer.url != url
            let loader = answer.isFromAlternative ? pipeline.loaders.loader(for: answer.url) : context.loader
            answer.isCacheable = loader?.isCacheable(answer.url) ?? true
            trace.note(.transfer, since: start, .answered(AnswerNote(answer, conditions: conditions)))
            receive(answer, question, stored)
        }
        job.run { priority in receiver.load(request, with: pipeline.loader(for: context), priority: priority) }
    }

    private func request(with conditions: [HTTPField]) -> LoaderRequest {
        var request = pipeline.loaderRequest(for: context)
        request.history = history
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

    private func refuse(_ objection: WebImageError, _ question: Question?) {
        guard let question, question.standsIn else { return job.finish(.failure(objection)) }
        trace.note(.validation, .standsIn)
        finish(with: question.bytes, question.response)
    }

    // MARK: The answer

    private func receive(_ answer: LoaderAnswer, _ question: Question?, _ stored: [StoredImage]?) {
        if case .failure(.cancelled) = answer.body { return job.finish(.failure(.cancelled)) }
        if let question {
            if let response = question.response {
                switch validation(of: response, question, answer) {
                case .confirmed(let response): return confirm(question.bytes, response, answer, stored)
                case .unconfirmed:
                    trace.note(.validation, .unconfirmed)
                    return ask(nil, stored: stored)
                case .usableDespiteError, .replaced: break
                }
            }
            if answer.isServerTrouble, question.standsIn {
                trace.note(.validation, .standsIn)
                return finish(with: question.bytes, question.response)
            }
        }
        guard case .success(let data) = answer.body, !answer.isConfirmation || !rules.wantsImage else {
            return fail(answer, stored)
        }
        if rules.request.method == "HEAD" { update(stored, byHead: answer) }
        finish(with: data, answer, stored)
    }

    private func validation(
        of response: StoredResponse, _ question: Question, _ answer: LoaderAnswer
    ) -> HTTPCachePolicy.ValidationResult {
        // It is about another file if the redirects have changed.
        if answer.isConfirmation, answer.finalURL != response.finalURL { return .unconfirmed }
        return HTTPCachePolicy.validate(
            response, question.revalidation, statusCode: answer.statusCode, headers: answer.head?.headers ?? [],
            requestTime: answer.requestTime, responseTime: answer.responseTime)
    }

    private func confirm(
        _ bytes: LoadedBytes, _ response: StoredResponse, _ answer: LoaderAnswer, _ stored: [StoredImage]?
    ) {
        var response = response
        response.apply(answer.redirectRule)
        let obstacle = rules.storageObstacle(to: response)
        response.isReusable = obstacle == nil
        bytes.record.update(response)
        trace.note(.validation, .confirmed)
        if let original = bytes.stored {
            if let obstacle, obstacle.forbidsDisk {
                trace.note(.store, .notStored(obstacle))
                originals.apply(.remove(withAlternates: stored?.dependOnRequest ?? true), for: context.key)
            } else if context.storesOnDisk {
                originals.update(original, with: response)
            }
        }
        finish(with: bytes.confirmed(by: answer), response)
    }
}

extension Pipeline {
    func bodyStorage(for context: LoadContext) -> BodyStorage {
        var storage = configuration.bodyStorage
        if !context.loader.isCacheable(context.request.url) { storage.memoryByteLimit = .max }
        return storage
    }
}
