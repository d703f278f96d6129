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
    private let pipeline: Pipeline
    private let work: SharedWork<LoadedBytes>
    private let context: LoadContext
    private let sources: ByteSources
    private let rules: AnswerRules

    init(
        _ pipeline: Pipeline, _ work: SharedWork<LoadedBytes>, _ context: LoadContext, sources: ByteSources
    ) {
        self.pipeline = pipeline
        self.work = work
        self.context = context
        self.sources = sources
        rules = pipeline.rules(for: context)
    }

    private var cache: ImageCache { pipeline.cache }

    func start() {
        guard sources.contains(.disk), cache.disk != nil else { return startWithoutDisk() }
        work.run { priority in
            pipeline.undecoded.admit(priority: priority) { [self] share in read(share) }
        }
    }

    private func startWithoutDisk() {
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
            let item = cache.readOriginal(of: context.key, priority: priority) { [self] stored in
                let answers = StoredAnswers(stored, for: context.key.original.description, in: cache) {
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
        let record = cache.provenances.record(of: answers.candidates[index].response, source: context.key.source)
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

    /// - Parameter answers: what is stored; `nil` where nobody has looked.
    private func ask(_ question: Question?, knows answers: StoredAnswers?) {
        guard sources.contains(.loader) else { return giveUp() }
        let conditions = question?.revalidation.conditions ?? []
        let request = pipeline.loaderRequest(for: context, conditions: conditions)
        let start = ContinuousClock.now
        let load = BytesLoad(
            work, storage: pipeline.bodyStorage(for: context),
            minimumProgressInterval: pipeline.minimumProgressInterval, budget: pipeline.undecoded, now: pipeline.now
        ) { [self] answer in
            work.trace.note(.transfer, since: start, .answered(answer, conditions: conditions))
            receive(answer, question, knows: answers)
        }
        work.run { priority in
            let task = context.loader.load(request, priority: priority) { load.receive($0) }
            load.attach(task)
            return LoaderStep(task: task)
        }
    }

    private func receive(_ answer: LoaderAnswer, _ question: Question?, knows answers: StoredAnswers?) {
        if case .failure(.cancelled) = answer.body { return work.finish(.failure(.cancelled)) }
        if let question {
            if let response = question.response {
                switch validation(of: response, question, answer) {
                case .confirmed(let response): return confirm(question.stored, response, answer)
                case .unconfirmed:
                    work.trace.note(.validation, .unconfirmed)
                    return ask(nil, knows: answers)
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
        HTTPCachePolicy.validate(
            response, question.revalidation, statusCode: answer.statusCode, headers: answer.head?.headers ?? [],
            requestTime: answer.requestTime, responseTime: answer.responseTime)
    }

    /// The server has said that what is stored is still good.
    private func confirm(_ stored: LoadedBytes, _ response: StoredResponse, _ answer: LoaderAnswer) {
        var response = response
        response.apply(answer.redirectRule)
        let obstacle = rules.storageObstacle(to: response)
        response.isReusable = obstacle == nil
        stored.record.update(response)
        work.trace.note(.validation, .confirmed)
        if let original = stored.stored {
            if let obstacle, obstacle.forbidsDisk {
                work.trace.note(.store, .notStored(obstacle))
                cache.apply(ImageCache.OriginalChange(nil), for: context.key)
            } else {
                cache.update(original, with: response)
            }
        }
        finish(with: stored.confirmed(by: answer), response)
    }

    private func finish(with data: Data, _ answer: LoaderAnswer, knows answers: StoredAnswers?) {
        let response = answer.record(under: rules)
        let obstacle = response.flatMap(rules.storageObstacle)
        let forbidsDisk = obstacle?.forbidsDisk ?? false
        var disk = Arrival.DiskUse.none
        // What is no picture is kept by the rules of HTTP alone.
        if context.usesDiskCache, rules.wantsPicture || response != nil && (obstacle == nil || forbidsDisk) {
            let mayLeaveRoom = response?.varyNames.isEmpty == false || (answers?.dependOnRequest ?? true)
            disk = forbidsDisk ? .forgets : mayLeaveRoom ? .keepsBesideOthers : .keeps
            if let obstacle {
                work.trace.note(.store, forbidsDisk ? .notStored(obstacle) : .keptDespite(obstacle))
            }
        }
        let arrival = Arrival(
            disk: disk, isForMemory: !forbidsDisk || rules.policy == .cacheFirst,
            requestHeaders: rules.request.headers)
        // A body in a file takes no memory but what the system can take back.
        let share = pipeline.undecoded.hold(answer.isInFile ? 0 : data.count)
        let bytes = LoadedBytes(
            data, head: answer.head, metrics: answer.metrics, record: ResponseRecord(response), arrival: arrival,
            share: share)
        if rules.wantsPicture || disk == .none { work.finish(.success(bytes)) } else { keep(bytes) }
    }

    /// Keeps what need not prove to be a picture.
    private func keep(_ bytes: LoadedBytes) {
        work.run { priority in
            let item = pipeline.decodingQueue.submit(priority: priority) { [self] in
                if let arrival = bytes.claimArrival(),
                    let change = pipeline.admit(bytes, arrival, context, work.trace)
                {
                    cache.apply(change, for: context.key)
                }
                work.finish(.success(bytes))
            }
            return QueuedStep(item: item)
        }
    }

    /// What a HEAD says about what is stored.
    private func update(_ answers: StoredAnswers?, byHead answer: LoaderAnswer) {
        guard let answers, let statusCode = answer.statusCode,
            let index = answers.candidates.firstIndex(where: { rules.isForRequest($0.response) }),
            let stored = answers.candidates[index].response, let original = answers.original(at: index),
            let updated = HTTPCachePolicy.updated(
                stored, byHeadWithStatus: statusCode, headers: answer.head?.headers ?? [],
                requestTime: answer.requestTime, responseTime: answer.responseTime)
        else { return }
        cache.provenances.record(of: stored, source: context.key.source).update(updated)
        cache.update(original, with: updated)
    }

    private func fail(_ answer: LoaderAnswer, _ answers: StoredAnswers?) {
        let error: WebImageError
        switch answer.body {
        case .failure(let failure): error = failure
        // Nobody here has asked whether anything has changed.
        case .success: error = .httpStatus(code: answer.statusCode ?? 304, url: context.request.url)
        }
        if answer.isRefused, rules.policy != .cacheFirst, context.usesDiskCache { keepError(answer, answers) }
        work.finish(.failure(error))
    }

    /// An error with a lifetime answers again until that is over; one that says that there is nothing ends what was stored.
    private func keepError(_ answer: LoaderAnswer, _ answers: StoredAnswers?) {
        guard var response = answer.record(under: rules), response.statusCode < 500 else { return }
        if response.isReusable, Freshness(of: response, now: pipeline.now()).isFresh {
            response.lacksBody = true
            work.trace.note(.store, .errorStored(status: response.statusCode))
            cache.provenances.adopt(
                ResponseRecord(response), source: context.key.source, requestHeaders: rules.request.headers)
            let metadata = ResponseMetadata(response: response)
            cache.apply(ImageCache.OriginalChange((Data(), metadata.encoded)), for: context.key)
        } else if [404, 410].contains(response.statusCode) {
            cache.provenances.supersedeAll(of: context.key.source)
            guard answers?.candidates.isEmpty != true else { return }
            work.trace.note(.store, .removed(status: response.statusCode))
            cache.apply(ImageCache.OriginalChange(nil), for: context.key)
        }
    }
}

extension ImageCache {
    /// Puts newer metadata of the same answer beside its body.
    fileprivate func update(_ original: StoredOriginal, with response: StoredResponse) {
        let known = original.responseMetadata.flatMap(ResponseMetadata.init(encoded:))
        let metadata = ResponseMetadata(response: response, alternates: known?.alternates ?? [])
        update(original, responseMetadata: metadata.encoded)
    }
}

extension StoredResponse {
    var isSuccess: Bool { (200..<300).contains(statusCode) }
}

extension HTTPCachePolicy.StorageObstacle {
    /// Whether the answer may not be written down at all, not even for those who do not go by the rules of HTTP.
    var forbidsDisk: Bool { self == .requestNoStore || self == .responseNoStore }
}
