internal import FoundationEssentials
internal import WebImage
internal import WebImageCaching
internal import WebImageCoding
public import WebImageCore
internal import WebImageIsolation
internal import WebImageLoading
internal import WebImageShared

/// Serves images that are made as URLs describe them: resized, cropped, in the client's best format.
///
/// URLs are those of imgproxy. The service has no network code of its own, so any HTTP server can call it:
///
/// ```swift
/// var configuration = ImageService.Configuration()
/// if let key = SigningKey(hexKey: "943b421c9eb07c83", hexSalt: "520f986b998545b4") { configuration.keys = [key] }
/// let service = try ImageService(configuration)
/// let request = ServiceRequest(target: "/SIGNATURE/rs:fill:300:300/plain/https://example.org/photo.jpg")
/// let answer = await service.answer(to: request)
/// print(answer.status, answer.body.count)
/// ```
///
/// Results are stored in memory, on disk and in a store that machines share. Equal requests at a time are one.
///
///     request ─► grammar, signature ─► order ─► results ─► answer
///                                                  └─ work ─► load, decode, process, encode
public final class ImageService: Sendable {
    /// The configuration.
    public let configuration: Configuration
    private let reader: OrderReader
    private let results: ResultStore
    /// Of the bytes of the fallback image.
    private let fallbackID: String
    let maker: ResultMaker
    let presets: Presets
    /// `nil` if the service takes no uploads over HTTP.
    let intake: UploadIntake?
    /// Shared by results and uploads.
    var places: WorkPlaces { results.places }
    /// For uploads that arrive: as many as can be made and wait. More are refused at once.
    let uploads: WorkPlaces
    /// For the bytes of uploads, from their arrival until their files are made.
    let uploadBytes: ByteBudget
    /// For the bodies of answers, while they are there.
    private let answerBytes: ByteBudget
    private let totals = Lock(Counters())
    /// Requests, uploads, and what they have begun.
    let work = WorkInProgress()
    private let madeFallbacks = Lock(0)
    /// How often the fallback image was made, for tests.
    var fallbackCount: Int { madeFallbacks.withLock { $0 } }

    /// Totals since the service was created, and its current state.
    public struct Counters: Sendable, Hashable {
        /// Requests, and those that were refused.
        public var requests = 0, refusals = 0
        /// Results from memory, from disk, and from the shared cache.
        public var memoryHits = 0, diskHits = 0, sharedHits = 0
        /// Results that were made, and requests that waited for one that another request had made.
        public var made = 0, joined = 0
        /// Uploads that were stored.
        public var uploads = 0
        /// Requests that were refused because too much waited.
        public var overloads = 0
        /// Results that are made now, and those that wait.
        public var running = 0, waiting = 0
    }

    /// Returns what tells stores, and their users, apart in keys of caches, without saying who the users are: a store lets others read other
    /// objects. Temporary keys are renewed within hours, which must not empty the caches: they count as one.
    private static func storeText(_ configuration: Configuration) -> String {
        let user =
            configuration.storeCredential.map { credential in
                credential.sessionToken == nil
                    ? String(SHA256.hexDigest(of: Array(credential.keyID.utf8)).prefix(16)) : "temporary"
            } ?? "anyone"
        let place = configuration.store.map { "\($0.endpoint.absoluteString) \($0.region) \($0.style)" } ?? ""
        return "\(place) \(user)"
    }

    /// Creates a service. It loads nothing before the first request.
    ///
    /// - Throws: ``WebImage/WebImageError/custom(id:message:)`` with the id `service-preset` for a preset that cannot be read, and `service-uploads` for
    ///   uploads that could not be stored or served.
    public init(_ configuration: Configuration = Configuration()) throws(WebImageError) {
        self.configuration = configuration
        let presets = Presets(configuration.presets, isOnlySource: configuration.allowsOnlyPresets)
        var options = OptionReader(presets: presets, configuration)
        do throws(Refusal) {
            try presets.check()
            if presets.options(of: Presets.defaultName) != nil {
                try options.apply(presets: [Presets.defaultName[...]])
            }
        } catch {
            throw .custom(id: "service-preset", message: error.text)
        }
        self.presets = presets
        let sources = SourcePolicy(
            configuration.allowedSources, hasFolder: configuration.folder != nil, hasStore: configuration.store != nil)
        reader = OrderReader(
            prefix: configuration.pathPrefix,
            signatures: SignatureCheck(
                keys: configuration.keys, byteCount: min(max(configuration.signatureByteCount, 1), 32),
                trusted: configuration.trustedSignatures),
            sources: sources, baseURL: configuration.baseURL, hasFileNames: configuration.hasFileNames,
            offeredFormats: configuration.offeredFormats,
            usesClientHints: configuration.usesClientHints, options: options)
        intake = try Self.intake(configuration, reader, presets)
        let maker = Self.maker(configuration, sources)
        self.maker = maker
        let limits = configuration.limits
        let waitingCount = max(0, limits.workCount) + max(0, limits.queueLength)
        uploads = WorkPlaces(placeCount: waitingCount, queueLength: 0)
        uploadBytes = ByteBudget(byteLimit: limits.uploadByteCount)
        answerBytes = ByteBudget(byteLimit: limits.sendingByteCount)
        fallbackID = configuration.fallback.map { SHA256.hexDigest(of: [UInt8]($0)) } ?? ""
        results = ResultStore(
            memory: MemoryCache(costLimit: configuration.memoryByteCount), disk: configuration.disk,
            shared: configuration.shared,
            places: WorkPlaces(
                placeCount: limits.workCount, queueLength: limits.queueLength,
                isolation: configuration.images.isolatedDecoding),
            lookUps: WorkPlaces(placeCount: waitingCount, queueLength: 0), work: work,
            now: configuration.now, didMeasure: configuration.didMeasure, settings: { maker.settings(of: $0) },
            make: { await maker.result(of: $0, $1) })
    }

    private static func maker(_ configuration: Configuration, _ sources: SourcePolicy) -> ResultMaker {
        let images = configuration.images
        return ResultMaker(
            manager: WebImageManager(configuration: Self.images(configuration, sources)),
            codecs: images.codecs.isolated(by: images.isolation, in: images.isolatedDecoding),
            limits: configuration.limits, quality: configuration.quality,
            formatQualities: configuration.formatQualities, lifetime: configuration.lifetime / .seconds(1),
            usesSourceLifetime: configuration.usesSourceLifetime,
            watermark: configuration.watermark.map { WatermarkImage($0, opacity: configuration.watermarkOpacity) },
            folder: configuration.folder?.absoluteString ?? "",
            store: storeText(configuration), sources: sources, now: configuration.now)
    }

    /// The configuration of the manager, with the service's own sources.
    private static func images(
        _ configuration: Configuration, _ sources: SourcePolicy
    ) -> WebImageManager.Configuration {
        var images = configuration.images
        images.servesSeveralUsers = true
        let limit = configuration.limits.sourceByteCount
        images.loaders = ImageLoaderGroup(
            images.loaders.loaders.map { loader in
                (loader as? ImageDownloader)?.bounded(byteCount: Int64(limit), sources) ?? loader
            })
        if configuration.folder != nil || configuration.store != nil {
            var loaders = images.loaders.loaders
            if let folder = configuration.folder { loaders.append(FolderLoader(folder, maximumByteCount: limit)) }
            if let store = configuration.store {
                loaders.append(S3SourceLoader(store, credential: configuration.storeCredential, byteLimit: limit))
            }
            images.loaders = ImageLoaderGroup(loaders)
        }
        if let shared = configuration.shared { images.share(shared) }
        return images
    }

    // MARK: Answering

    /// Answers a request. Cancelling the task gives it up.
    public func answer(to request: ServiceRequest) async -> ServiceAnswer {
        switch begin(request) {
        case .answer(let answer): answer
        case .pending(let pending): await answer(to: pending)
        }
    }

    /// A request whose answer needs waiting.
    public struct PendingAnswer: Sendable {
        fileprivate let request: ServiceRequest
        fileprivate let order: Order
    }

    /// The part of an answer that is there at once.
    public enum Beginning: Sendable {
        /// All of it.
        case answer(ServiceAnswer)
        /// Nothing: ``ImageService/answer(to:)-(ImageService.PendingAnswer)`` has it later.
        case pending(PendingAnswer)
    }

    /// Answers a request if that needs no waiting: from memory, or because it is refused. A server with threads of its own needs no task for such answers.
    public func begin(_ request: ServiceRequest) -> Beginning {
        do throws(Refusal) {
            let order = try reader.order(for: request, now: configuration.now())
            if let answer = try answerFromMemory(request, order) { return .answer(answer) }
            return .pending(PendingAnswer(request: request, order: order))
        } catch {
            return .answer(refused(error, request))
        }
    }

    /// Answers a request that has begun. Cancelling the task gives it up.
    public func answer(to pending: PendingAnswer) async -> ServiceAnswer {
        let (request, order) = (pending.request, pending.order)
        do throws(Refusal) {
            try work.beginRequest()
            defer { work.end() }
            let limit = ContinuousClock.now + configuration.limits.time
            let end = request.deadline.map { min($0, limit) } ?? limit
            let found = await results.answer(to: order, until: end)
            switch found.outcome {
            case .success(let result):
                return try answer(request, order, result, found.origin)
            case .failure(let refusal):
                if let answer = try await fallback(request, order, refusal, until: end) { return answer }
                throw refusal
            }
        } catch {
            return refused(error, request)
        }
    }

    private func answerFromMemory(_ request: ServiceRequest, _ order: Order) throws(Refusal) -> ServiceAnswer? {
        guard let result = results.inMemory(order.key) else { return nil }
        return try answer(request, order, result, .memory)
    }

    private func answer(
        _ request: ServiceRequest, _ order: Order, _ result: StoredResult, _ origin: ResultStore.Origin
    ) throws(Refusal) -> ServiceAnswer {
        let answer = ResultAnswer(
            request: request, order: order, result: result, origin: origin, now: configuration.now()
        ).answer
        let counted = try counted(answer)
        count(origin)
        return counted
    }

    /// Counts the memory of an answer, which clients may read slowly.
    private func counted(_ answer: ServiceAnswer) throws(Refusal) -> ServiceAnswer {
        guard let body = answer.body.counted(by: answerBytes) else { throw .busy }
        var answer = answer
        answer.body = body
        return answer
    }

    /// Returns the image that stands for one that cannot be had.
    private func fallback(
        _ request: ServiceRequest, _ order: Order, _ refusal: Refusal, until end: ContinuousClock.Instant
    ) async throws(Refusal) -> ServiceAnswer? {
        guard let data = configuration.fallback, refusal.isAboutSource, order.key.info == nil else { return nil }
        // It has a place, a job and the caches, as any other result.
        let order = order.replacingSource(by: data, id: fallbackID)
        let found = await results.answer(to: order, until: end)
        guard case .success(let result) = found.outcome else { return nil }
        if found.origin == .made || found.origin == .renewed { madeFallbacks.withLock { $0 += 1 } }
        // The source may work again soon.
        var answer = ResultAnswer(
            request: request, order: order, result: result, origin: found.origin, now: configuration.now(),
            status: configuration.fallbackStatus ?? refusal.status, longestLifetime: 60
        ).answer
        answer.reason = refusal.detail
        answer = try counted(answer)
        totals.withLock { totals in
            totals.requests += 1
            totals.refusals += 1
        }
        return answer
    }

    /// Returns the answer to a request that is refused, and counts it.
    func refused(_ refusal: Refusal, _ request: ServiceRequest) -> ServiceAnswer {
        totals.withLock { totals in
            totals.requests += 1
            totals.refusals += 1
            if refusal == .overloaded { totals.overloads += 1 }
        }
        return refusal.answer(hasBody: request.method != "HEAD")
    }

    func noteUpload() {
        totals.withLock { totals in
            totals.requests += 1
            totals.uploads += 1
        }
    }

    private func count(_ origin: ResultStore.Origin) {
        totals.withLock { totals in
            totals.requests += 1
            switch origin {
            case .memory: totals.memoryHits += 1
            case .disk: totals.diskHits += 1
            case .shared: totals.sharedHits += 1
            case .made, .renewed: totals.made += 1
            case .joined, .joinedRenewal: totals.joined += 1
            }
        }
    }

    // MARK: State

    /// The counters.
    public var counters: Counters {
        var counters = totals.withLock { $0 }
        counters.running = results.places.runningCount
        counters.waiting = results.places.waitingCount
        return counters
    }

    /// Whether the service takes requests: it is not stopping, and not everything that may wait does.
    public var isReady: Bool { !work.isStopping && !results.places.isFull }

    /// Refuses requests for results that are not in memory from now on, with 503, and waits until those in progress have ended and all results
    /// are written.
    ///
    /// It waits for requests for at most ``Limits/time``, after which none is answered any more.
    public func stop() async {
        await work.stop(within: configuration.limits.time)
        await results.flush()
    }
}
