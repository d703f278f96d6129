import FoundationEssentials
import WebImageCaching
import WebImageCore
import WebImageLoading

/// One run of the bytes stage: from what is stored to what the server says.
///
/// ```
///  read what is stored ─► AnswerRules.decide
///     ├► serve              ─► end
///     ├► serve, revalidate  ─► provisional ─┐
///     ├► revalidate ────────────────────────┴► loader, with conditions
///     │                                          304 ─► metadata freshened, on disk and in memory ─► end: what is stored
///     │                                          trouble, and it may stand in ─► end: what is stored
///     ├► load ─► loader ◄─ a 304 about something else
///     │            anything else ─► end: what the loader has brought, or its failure
///     └► fail  ─► end: not in cache
/// ```
final class BytesFetch: Sendable {
    let pipeline: Pipeline
    let work: SharedWork<LoadedBytes>
    let context: LoadContext
    let rules: AnswerRules
    private let sources: ByteSources
    private let request: LoaderRequest

    init(
        _ pipeline: Pipeline, _ work: SharedWork<LoadedBytes>, _ context: LoadContext, sources: ByteSources
    ) {
        self.pipeline = pipeline
        self.work = work
        self.context = context
        self.sources = sources
        request = pipeline.loaderRequest(for: context)
        rules = pipeline.rules(for: context, headers: context.loader.requestHeaders(for: request))
    }

    /// Of the bytes; pictures may be kept elsewhere.
    var originals: ImageCache { pipeline.originals }

    func start() {
        guard sources.contains(.disk), originals.disk != nil else { return startWithoutDisk() }
        work.run { priority in
            pipeline.undecoded.admit(priority: priority) { [self] share in read(share) }
        }
    }

    private func startWithoutDisk() {
        if rules.policy == .reload {
            work.trace.note(.policy, .decided(.load(because: .policyWantsServer), rules.policy))
        } else {
            work.trace.note(.disk, .noDisk)
        }
        guard sources.contains(.loader) else { return giveUp() }
        // A request of HTTP may forbid the server by itself.
        guard rules.policy == .http, case .fail = rules.decide([], now: pipeline.now()) else {
            return ask(nil, knows: nil)
        }
        giveUp()
    }

    private func giveUp() { work.finish(.failure(.notInCache(key: context.key.source))) }

    // MARK: What is stored

    private func read(_ share: BodyBudget.Share) {
        let start = ContinuousClock.now
        work.run { priority in
            let item = originals.readOriginal(of: context.key, priority: priority) { [self] stored in
                let answers = StoredAnswers(stored, for: context.key.original.description, in: originals) {
                    rules.isForRequest($0)
                }
                share.settle(stored?.data.count ?? 0)
                work.trace.note(
                    .disk, since: start,
                    .diskRead(answerCount: answers.candidates.count, byteCount: stored?.data.count))
                answer(from: answers, share)
            }
            return item.map { QueuedStep(item: $0) }
        }
    }

    /// On a disk thread.
    private func answer(from answers: StoredAnswers, _ share: BodyBudget.Share) {
        let decision = rules.decide(answers.candidates.map(\.response), now: pipeline.now())
        work.trace.note(.policy, .decided(decision, rules.policy))
        switch decision {
        case .serve(let index, _):
            guard let stored = stored(index, answers, share) else { return loadOrGiveUp(answers) }
            finish(with: stored, answers.candidates[index].response)
        case .serveAndRevalidate(let index, let question, _):
            guard let stored = stored(index, answers, share) else { return loadOrGiveUp(answers) }
            let response = answers.candidates[index].response
            let isAnswer = response.map(\.isSuccess) ?? true
            if isAnswer { work.report(provisional: stored) }
            // Those who go by HTTP may have it as the answer; who wants it refreshed wants to know of trouble.
            let standsIn = rules.policy == .http || question.mayServeOnError
            ask(Question(stored: stored, response: response, question, standsIn: standsIn), knows: answers)
        case .revalidate(let index, let question, _):
            guard let stored = stored(index, answers, share) else { return loadOrGiveUp(answers) }
            let response = answers.candidates[index].response
            ask(
                Question(stored: stored, response: response, question, standsIn: question.mayServeOnError),
                knows: answers)
        case .load:
            loadOrGiveUp(answers)
        case .fail:
            giveUp()
        }
    }

    private func stored(_ index: Int, _ answers: StoredAnswers, _ share: BodyBudget.Share) -> LoadedBytes? {
        guard let original = answers.original(at: index) else { return nil }
        share.settle(original.data.count)
        let record = pipeline.record(of: answers.candidates[index].response, source: context.key.source)
        return LoadedBytes(original, record: record, share: share)
    }

    /// Ends with what is stored: bytes, or an error that the server let be kept.
    private func finish(with stored: LoadedBytes, _ response: StoredResponse?) {
        if let response, rules.wantsPicture, !response.isSuccess {
            return work.finish(.failure(.httpStatus(code: response.statusCode, url: context.request.url)))
        }
        work.finish(.success(stored))
    }

    // MARK: What the server says

    /// What the server is asked about.
    private struct Question {
        let stored: LoadedBytes
        let response: StoredResponse?
        let revalidation: HTTPCachePolicy.Revalidation
        /// Whether what is stored is the answer when the server has none.
        let standsIn: Bool

        init(
            stored: LoadedBytes, response: StoredResponse?, _ revalidation: HTTPCachePolicy.Revalidation,
            standsIn: Bool
        ) {
            self.stored = stored
            self.response = response
            self.revalidation = revalidation
            self.standsIn = standsIn
        }
    }

    private func loadOrGiveUp(_ answers: StoredAnswers) {
        if sources.contains(.loader) { ask(nil, knows: answers) } else { giveUp() }
    }

    /// - Parameters:
    ///   - answers: what is stored; `nil` where nobody has looked.
    ///   - usedTime: how long the load's transfers have taken so far.
    private func ask(_ question: Question?, knows answers: StoredAnswers?, usedTime: Duration = .zero) {
        guard sources.contains(.loader) else { return giveUp() }
        if let objection = work.objectionToLoading() { return refuse(objection, question) }
        let conditions = question?.revalidation.conditions ?? []
        var request = pipeline.complete(request, for: context, conditions: conditions)
        request.usedTime = usedTime
        let url = request.url
        work.run { [request] priority in
            pipeline.attempts(at: request, context, for: work, priority: priority) { [self] source, number in
                let start = ContinuousClock.now
                return BytesLoad(
                    work, storage: pipeline.bodyStorage(for: context),
                    minimumProgressInterval: pipeline.minimumProgressInterval, budget: pipeline.undecoded,
                    attempt: number, now: pipeline.now
                ) { [self] answer in
                    var answer = answer
                    answer.isFromAlternative = source.request.url != url
                    answer.isCacheable = source.loader.isCacheable(source.request.url)
                    work.trace.note(.transfer, since: start, .answered(answer, conditions: conditions))
                    receive(answer, question, knows: answers)
                }
            }
        }
    }

    /// Ends without asking the loader: with what is stored, if that is an answer without the server.
    private func refuse(_ objection: WebImageError, _ question: Question?) {
        guard let question, question.standsIn else { return work.finish(.failure(objection)) }
        work.trace.note(.validation, .standsIn)
        finish(with: question.stored, question.response)
    }

    private func receive(_ answer: LoaderAnswer, _ question: Question?, knows answers: StoredAnswers?) {
        if case .failure(.cancelled) = answer.body { return work.finish(.failure(.cancelled)) }
        if let question {
            if let response = question.response {
                switch validation(of: response, question, answer) {
                case .confirmed(let response): return confirm(question.stored, response, answer, answers)
                case .unconfirmed:
                    work.trace.note(.validation, .unconfirmed)
                    return ask(nil, knows: answers, usedTime: answer.metrics?.activeDuration ?? .zero)
                case .usableDespiteError, .replaced: break
                }
            }
            if answer.isServerTrouble, question.standsIn {
                work.trace.note(.validation, .standsIn)
                return finish(with: question.stored, question.response)
            }
        }
        guard case .success(let data) = answer.body, !answer.isConfirmation || !rules.wantsPicture else {
            return fail(answer, answers)
        }
        if rules.request.method == "HEAD" { update(answers, byHead: answer) }
        finish(with: data, answer, knows: answers)
    }

    private func validation(
        of response: StoredResponse, _ question: Question, _ answer: LoaderAnswer
    ) -> HTTPCachePolicy.ValidationResult {
        // Redirects may lead elsewhere by now: validators say nothing about other places, and dates may well agree by chance.
        if answer.isConfirmation, answer.finalURL != response.finalURL { return .unconfirmed }
        return HTTPCachePolicy.validate(
            response, question.revalidation, statusCode: answer.statusCode, headers: answer.head?.headers ?? [],
            requestTime: answer.requestTime, responseTime: answer.responseTime)
    }

    /// The server has said that what is stored is still good.
    private func confirm(
        _ stored: LoadedBytes, _ response: StoredResponse, _ answer: LoaderAnswer, _ answers: StoredAnswers?
    ) {
        var response = response
        response.apply(answer.redirectRule)
        let obstacle = rules.storageObstacle(to: response)
        response.isReusable = obstacle == nil
        stored.record.update(response)
        work.trace.note(.validation, .confirmed)
        if let original = stored.stored {
            if let obstacle, obstacle.forbidsDisk {
                work.trace.note(.store, .notStored(obstacle))
                originals.apply(.removal(of: context.key, withOthers: answers?.dependOnRequest), for: context.key)
            } else if context.usesDiskCache {
                originals.update(original, with: response)
            }
        }
        finish(with: stored.confirmed(by: answer), response)
    }
}
