import FoundationEssentials
import WebImageCaching
import WebImageCore
import WebImageLoading

extension BytesLoad {
    /// Ends with a new response.
    func finish(with data: Data, _ answer: LoaderAnswer, _ stored: [StoredImage]?) {
        let response = answer.storedResponse(under: rules)
        let obstacle = response.flatMap(rules.storageObstacle)
        let forbidsDisk = obstacle?.forbidsDisk ?? false
        var disk = Arrival.DiskUse.none
        // Data of any kind is stored by HTTP's rules alone.
        let mayStore =
            rules.requiresImage
            || response != nil && !rules.request.isConditionalOrPartial && (obstacle == nil || forbidsDisk)
        if hasDisk, mayStore, answer.isCacheable, !isForHead {
            disk =
                !forbidsDisk
                ? diskUse(of: response, stored)
                : answer.endsWhatIsStored ? .removes(others: stored?.dependOnRequest ?? true) : .none
            if let obstacle {
                trace.note(.store, forbidsDisk ? .notStored(obstacle) : .keptDespite(obstacle))
            }
        }
        let arrival = Arrival(
            disk: disk, isForMemory: !forbidsDisk || rules.policy == .cacheFirst, sent: rules.sent)
        let share = pipeline.undecoded.hold(answer.isInFile ? 0 : data.count)
        let bytes = LoadedBytes(
            data, head: answer.head, metrics: answer.metrics, record: ResponseRecord(response), arrival: arrival,
            share: share, judgments: answer.judgments,
            listing: answer.isCacheable && maySpareLoads(disk) ? (pipeline.unstored, key) : nil)
        // Images are stored once they have been decoded.
        if rules.requiresImage || disk == .none {
            job.finish(.success(bytes))
        } else {
            store(bytes, andFinish: .success(bytes))
        }
    }

    /// Whether the bytes serve other requests before they are stored, as they do afterwards.
    private func maySpareLoads(_ disk: Arrival.DiskUse) -> Bool {
        guard rules.requiresImage else { return false }
        return switch rules.policy {
        case .cacheFirst: true
        case .http: disk == .stores || disk == .storesBesideOthers
        case .reload, .refresh, .cacheOnly, .offline: false
        }
    }

    private var hasDisk: Bool { context.storesOnDisk && originals.hasDisk }

    /// If it is not known what is stored, as under `.reload`, there may be others.
    private func diskUse(of response: CachedResponse?, _ stored: [StoredImage]?) -> Arrival.DiskUse {
        let varies = response?.varyingFieldNames.isEmpty == false
        return varies || stored?.dependOnRequest ?? true ? .storesBesideOthers : .stores
    }

    /// Stores on a decoding thread, because other responses may have to be read.
    private func store(_ bytes: LoadedBytes, andFinish result: Result<LoadedBytes, WebImageError>) {
        job.run { priority in
            pipeline.decodingQueue.run(priority: priority) { [self] _ in
                if let arrival = bytes.claimArrival(),
                    let change = pipeline.change(for: bytes, arrival, as: nil, context, trace)
                {
                    originals.apply(change, for: context.key)
                }
                job.finish(result)
            }
        }
    }

    /// Updates the stored response after a HEAD request (RFC 9111, 4.3.5).
    func update(_ stored: [StoredImage]?, byHead answer: LoaderAnswer) {
        guard let stored, let statusCode = answer.statusCode,
            let original = stored.first(where: { rules.isForRequest($0.response) }),
            let response = original.response,
            let updated = HTTPCachePolicy.updated(
                response, byHeadWithStatus: statusCode, headers: answer.head?.headers ?? [],
                requestTime: answer.requestTime, responseTime: answer.responseTime)
        else { return }
        pipeline.record(of: response, source: context.key.source).update(updated)
        originals.update(original, responseMetadata: updated.encoded)
    }

    // MARK: Failures

    /// Ends with an error. Under policies that follow HTTP, an error with a lifetime is stored, and a 404 or 410
    /// removes what is stored.
    func fail(_ answer: LoaderAnswer, _ stored: [StoredImage]?) {
        let error: WebImageError
        switch answer.body {
        case .failure(let failure): error = failure
        // A 304 to an unconditional request.
        case .success: error = .httpStatus(code: answer.statusCode ?? 304, url: context.request.url)
        }
        guard answer.isRefused, rules.policy != .cacheFirst, let response = answer.storedResponse(under: rules),
            response.statusCode < 500
        else { return job.finish(.failure(error)) }
        if response.isReusable, hasDisk, response.isFresh(at: pipeline.now) {
            return storeError(response, answer, error, stored)
        }
        if [404, 410].contains(response.statusCode) { removeStored(stored, status: response.statusCode) }
        job.finish(.failure(error))
    }

    private func storeError(
        _ response: CachedResponse, _ answer: LoaderAnswer, _ error: WebImageError, _ stored: [StoredImage]?
    ) {
        var response = response
        response.lacksBody = true
        trace.note(.store, .errorStored(status: response.statusCode))
        let arrival = Arrival(
            disk: diskUse(of: response, stored), isForMemory: false, sent: rules.sent)
        let head = LoadedBytes(
            Data(), head: answer.head, metrics: answer.metrics, record: ResponseRecord(response), arrival: arrival,
            share: pipeline.undecoded.hold(0))
        store(head, andFinish: .failure(error))
    }

    private func removeStored(_ stored: [StoredImage]?, status: Int) {
        pipeline.supersedeAll(of: context.key.source)
        guard hasDisk, stored?.isEmpty != true else { return }
        trace.note(.store, .removed(status: status))
        originals.apply(.remove(withAlternates: stored?.dependOnRequest ?? true), for: context.key)
    }
}

extension LoaderAnswer {
    /// Whether a response that must not be stored means that what is stored is out of date.
    fileprivate var endsWhatIsStored: Bool {
        statusCode.map { (200..<400).contains($0) || [404, 410].contains($0) } ?? false
    }
}

extension CachedResponse {
    var isSuccess: Bool { (200..<300).contains(statusCode) }
}

extension HTTPCachePolicy.StorageObstacle {
    var forbidsDisk: Bool { [.requestNoStore, .responseNoStore, .responsePrivate].contains(self) }
}
