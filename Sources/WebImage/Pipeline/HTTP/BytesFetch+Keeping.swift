import FoundationEssentials
import WebImageCaching
import WebImageCore
import WebImageLoading

/// What is kept of an answer that a loader has brought.
extension BytesFetch {
    func finish(with data: Data, _ answer: LoaderAnswer, knows answers: StoredAnswers?) {
        let response = answer.record(under: rules)
        let obstacle = response.flatMap(rules.storageObstacle)
        let forbidsDisk = obstacle?.forbidsDisk ?? false
        var disk = Arrival.DiskUse.none
        // What is no picture is kept by the rules of HTTP alone.
        let mayKeep =
            rules.wantsPicture
            || response != nil && !rules.request.isConditionalOrPartial && (obstacle == nil || forbidsDisk)
        if hasDisk, mayKeep, answer.isCacheable, rules.request.method != "HEAD" {
            disk =
                !forbidsDisk
                ? diskUse(of: response, knows: answers)
                : answer.endsWhatIsStored ? .forgets(others: answers?.dependOnRequest ?? true) : .none
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
        if rules.wantsPicture || disk == .none {
            work.finish(.success(bytes))
        } else {
            keep(bytes, andFinish: .success(bytes))
        }
    }

    private var hasDisk: Bool { context.usesDiskCache && cache.disk != nil }

    /// Whether others have to be looked at before it is kept.
    private func diskUse(of response: StoredResponse?, knows answers: StoredAnswers?) -> Arrival.DiskUse {
        let varies = response?.varyNames.isEmpty == false
        return varies || answers?.dependOnRequest ?? true ? .keepsBesideOthers : .keeps
    }

    /// Keeps what need not prove to be a picture: not on this thread, which may be the network's, as it may block.
    private func keep(_ bytes: LoadedBytes, andFinish result: Result<LoadedBytes, WebImageError>) {
        work.run { priority in
            let item = pipeline.decodingQueue.submit(priority: priority) { [self] in
                if let arrival = bytes.claimArrival(),
                    let change = pipeline.admit(bytes, arrival, context, work.trace)
                {
                    cache.apply(change, for: context.key)
                }
                work.finish(result)
            }
            return QueuedStep(item: item)
        }
    }

    /// What a HEAD says about what is stored.
    func update(_ answers: StoredAnswers?, byHead answer: LoaderAnswer) {
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

    func fail(_ answer: LoaderAnswer, _ answers: StoredAnswers?) {
        let error: WebImageError
        switch answer.body {
        case .failure(let failure): error = failure
        // Nobody here has asked whether anything has changed.
        case .success: error = .httpStatus(code: answer.statusCode ?? 304, url: context.request.url)
        }
        // Who takes whatever is stored has asked because there was nothing.
        guard answer.isRefused, rules.policy != .cacheFirst, let response = answer.record(under: rules),
            response.statusCode < 500
        else { return work.finish(.failure(error)) }
        if response.isReusable, hasDisk, Freshness(of: response, now: pipeline.now()).isFresh {
            return keep(response, answer, andFail: error, answers)
        }
        if [404, 410].contains(response.statusCode) { forgetStored(answers, status: response.statusCode) }
        work.finish(.failure(error))
    }

    /// Keeps an error that has a lifetime: it answers again until that is over.
    private func keep(
        _ response: StoredResponse, _ answer: LoaderAnswer, andFail error: WebImageError, _ answers: StoredAnswers?
    ) {
        var response = response
        response.lacksBody = true
        work.trace.note(.store, .errorStored(status: response.statusCode))
        let arrival = Arrival(
            disk: diskUse(of: response, knows: answers), isForMemory: false, requestHeaders: rules.request.headers)
        let head = LoadedBytes(
            Data(), head: answer.head, metrics: answer.metrics, record: ResponseRecord(response), arrival: arrival,
            share: pipeline.undecoded.hold(0))
        keep(head, andFinish: .failure(error))
    }

    /// The server has said that there is nothing.
    private func forgetStored(_ answers: StoredAnswers?, status: Int) {
        cache.provenances.supersedeAll(of: context.key.source)
        guard hasDisk, answers?.candidates.isEmpty != true else { return }
        work.trace.note(.store, .removed(status: status))
        cache.apply(.removal(of: context.key, withOthers: answers?.dependOnRequest), for: context.key)
    }
}

extension ImageCache {
    /// Puts newer metadata of the same answer beside its body.
    func update(_ original: StoredOriginal, with response: StoredResponse) {
        let known = original.responseMetadata.flatMap(ResponseMetadata.init(encoded:))
        let metadata = ResponseMetadata(response: response, alternates: known?.alternates ?? [])
        update(original, responseMetadata: metadata.encoded)
    }
}

extension ImageCache.OriginalChange {
    /// Takes a URL's answer off the disk, and with it those that Vary tells apart, which only its metadata lead to.
    ///
    /// - Parameter others: whether there may be some; `nil` where nobody has looked.
    static func removal(of key: ImageCacheKey, withOthers others: Bool?) -> Self {
        Self(nil, removed: others ?? true ? key.original.alternates : [])
    }
}

extension LoaderAnswer {
    /// Whether it says that what was stored is no more; other errors are about who asks, or when.
    fileprivate var endsWhatIsStored: Bool {
        statusCode.map { (200..<400).contains($0) || [404, 410].contains($0) } ?? false
    }
}

extension StoredResponse {
    var isSuccess: Bool { (200..<300).contains(statusCode) }
}

extension HTTPCachePolicy.StorageObstacle {
    /// Whether the answer may not be written down at all, not even for those who do not go by the rules of HTTP.
    var forbidsDisk: Bool { self == .requestNoStore || self == .responseNoStore }
}
