internal import FoundationEssentials
internal import WebImageCaching
internal import WebImageCore
internal import WebImageLoading

/// One load through a shared cache.
///
///     find ─┬─ fresh ──────────────────────────────────────────────► serve
///           ├─ stale ──► origin, with validators ─┬─ 304 ──► serve, freshen
///           │                                     ├─ error, stale-if-error ──► serve
///           │                                     └─ 200 ──► pass on, write
///           ├─ claimed ──► origin, lease renewed ──► pass on, write
///           ├─ leased by another ──► look again ─┬─ there ──► as above
///           │                                    └─ after 500 ms ──► origin
///           ├─ against the address policy ──► origin
///           └─ nothing, no store ──► origin ──► pass on, write
///
/// Writes wait until the image was decoded, see `BodyJudgment`; a lease is renewed until then. If a body that was served
/// is no image, the pipeline requests another one from the server, which replaces it.
final class SharedLoad: PausableTask {
    /// The longest wait for another machine.
    static let patience = Duration.milliseconds(500)
    /// How long the mark of a response that may not be shared is valid, in seconds.
    private static let refusalDuration = 60.0

    private let store: SharedStore
    private let base: any ImageLoader
    /// The base loader with its rules for shared responses; `nil` for custom loaders.
    private let origin: SharingRules?
    private let request: LoaderRequest
    private let headersSent: [HTTPHeader]
    private let handler: @Sendable (LoaderEvent) -> Void
    private let look = Lock<Task<Void, Never>?>(nil)
    /// The load from the origin.
    private let transfer: ReplaceableTask
    private let name: String

    init(
        _ store: SharedStore, _ base: any ImageLoader, _ rules: SharingRules?, _ request: LoaderRequest,
        _ headersSent: [HTTPHeader],
        _ priority: LoadPriority, _ handler: @escaping @Sendable (LoaderEvent) -> Void
    ) {
        (self.store, self.base, self.request, self.handler) = (store, base, request, handler)
        origin = rules
        self.headersSent = headersSent
        name = request.url.withoutFragment.absoluteString
        transfer = ReplaceableTask(priority: priority)
    }

    func start() {
        let task = Task { await run() }
        look.withLock { $0 = task }
        // Otherwise it is cancelled with the load.
        if isCancelled { task.cancel() }
    }

    /// Loads from the origin. The response is written afterwards.
    ///
    /// - Parameter reason: why nothing is looked up, for the trace.
    func startWithoutLookUp(because reason: String) {
        note("not used, because " + reason)
        load(nil, claimed: false)
    }

    func cancel() {
        transfer.cancel()
        look.withLock { $0 }?.cancel()
    }

    func setPriority(_ priority: LoadPriority) { transfer.setPriority(priority) }
    func pause() { transfer.pause() }
    func resume() { transfer.resume() }

    private func note(_ text: String) { handler(.report(.noted("shared cache: " + text))) }

    private var isCancelled: Bool { transfer.isCancelled }

    // MARK: Looking up

    private func run() async {
        let start = ContinuousClock.now
        var hasWaited = false
        while true {
            let finding = await store.find(name)
            if isCancelled {
                if case .claimed = finding { store.removeLater(name) }
                return handler(.finished(.failure(.cancelled)))
            }
            switch finding {
            case .unavailable(let reason):
                note(reason)
                return load(nil, claimed: false)
            case .claimed: return miss("nothing is stored; this machine loads it", claimed: true)
            case .absent: return miss("nothing is stored")
            case .found(let object, let age):
                switch object.kind {
                case .response:
                    if hasWaited { store.count { $0.sharedLoads += 1 } }
                    return await answer(from: object)
                case .refusal where !object.isExpired(at: Date()), .value: return miss()
                case .refusal: break
                case .lease:
                    if let age, age <= SharedStore.leaseDuration, start.duration(to: .now) < Self.patience {
                        if !hasWaited { note("another machine loads it; waiting for \(Self.patience) at most") }
                        hasWaited = true
                        try? await Task.sleep(for: SharedStore.lookInterval)
                        if isCancelled { return handler(.finished(.failure(.cancelled))) }
                        continue
                    }
                    if age.map({ $0 <= SharedStore.leaseDuration }) ?? true {
                        if hasWaited { store.count { $0.abandonedWaits += 1 } }
                        return miss(hasWaited ? "waited long enough; this machine loads it too" : nil)
                    }
                }
                return await replaceVoidMark()
            }
        }
    }

    /// The first machine to replace a void mark loads.
    private func replaceVoidMark() async {
        store.count { $0.misses += 1 }
        let isRenewed = await store.renew(name)
        guard isCancelled else { return load(nil, claimed: isRenewed) }
        if isRenewed { store.removeLater(name) }
        handler(.finished(.failure(.cancelled)))
    }

    /// Loads from the origin because no stored response can be used.
    private func miss(_ reason: String? = nil, claimed: Bool = false) {
        if let reason { note(reason) }
        store.count { $0.misses += 1 }
        load(nil, claimed: claimed)
    }

    /// A stored response and its body.
    private struct Stored: Sendable {
        let response: CachedResponse
        let body: Data
        /// Of the server; `nil` if it is unknown.
        let address: String?
    }

    private func answer(from object: SharedObject) async {
        guard let stored = Self.stored(in: object) else {
            store.count { $0.invalidObjects += 1 }
            return load(nil, claimed: false)
        }
        guard stored.response.matches(headersSent) else {
            // Another variant. The latest response names the fields it varies by.
            let variant = variantName(of: stored.response)
            guard case .found(let other, _) = await store.read(variant), let stored = Self.stored(in: other),
                stored.response.matches(headersSent)
            else {
                store.count { $0.misses += 1 }
                return isCancelled ? handler(.finished(.failure(.cancelled))) : load(nil, claimed: false)
            }
            return isCancelled ? handler(.finished(.failure(.cancelled))) : decide(stored)
        }
        decide(stored)
    }

    private static func stored(in object: SharedObject) -> Stored? {
        // Redirected responses are not written: their other URLs would have to be checked too.
        guard object.kind == .response, let response = CachedResponse(encoded: object.texts.record),
            response.finalURL == nil
        else { return nil }
        return Stored(response: response, body: object.content, address: object.texts.address)
    }

    private func variantName(of response: CachedResponse) -> String {
        let values = response.varyingFieldNames.sorted().map { name in
            let values = headersSent.filter { $0.isNamed(name) }.map(\.value)
            return "\(name)=\(values.joined(separator: ","))"
        }
        return name + "\nvary:" + SHA256.hexDigest(of: [UInt8](values.joined(separator: "\n").utf8))
    }

    private func decide(_ stored: Stored) {
        // The loader then reports the error, or finds an allowed address.
        if let reason = origin?.blockReason(for: request.url, servedFrom: stored.address) {
            return miss("what is stored is not used: \(reason.addressText)")
        }
        if let origin, !origin.accepts(stored.response, byteCount: stored.body.count) {
            return miss("what is stored is not used: the loader does not accept such a response")
        }
        let fields = headersSent.filter { !HTTPHeader.conditionNames.contains($0.name.lowercased()) }
        let decision = HTTPCachePolicy.decide(
            HTTPCachePolicy.Request(headers: fields), stored: [stored.response.forSharedCache], now: Date())
        switch decision {
        case .serve:
            note("\(stored.body.count) bytes are stored and fresh")
            serve(stored, isHit: true)
        case .serveAndRevalidate(_, let revalidation, _), .revalidate(_, let revalidation, _):
            store.count { $0.misses += 1 }
            note("\(stored.body.count) bytes are stored, and must be revalidated")
            load(StaleResponse(stored: stored, revalidation: revalidation), claimed: false)
        case .load, .fail: miss()
        }
    }

    /// - Parameters:
    ///   - isHit: whether it counts as one; if it turns out to be no image, it is a miss.
    ///   - isFreshened: whether the server has confirmed it.
    private func serve(_ stored: Stored, isHit: Bool = false, isFreshened: Bool = false) {
        let headers = stored.response.headers(servedAt: Date())
        var response = LoaderResponse(url: request.url, statusCode: stored.response.statusCode, headers: headers)
        if isConfirmed(stored.response) {
            // The caller has its own copy, so this one stays unknown.
            if isFreshened { write(stored) }
            if isHit { store.count { $0.hits += 1 } }
            response.statusCode = 304
            handler(.response(response))
        } else {
            response.expectedByteCount = Int64(stored.body.count)
            handler(.response(response))
            handler(.bytes(stored.body))
            let judgment = BodyJudgment(isFromSharedCache: true) { [self] verdict in
                if isFreshened, verdict == .image { write(stored) }
                store.count { counters in
                    if verdict == .noImage { counters.invalidObjects += 1 }
                    guard isHit else { return }
                    if verdict == .noImage { counters.misses += 1 } else { counters.hits += 1 }
                }
            }
            handler(.report(.judged(by: judgment)))
        }
        handler(.finished(.success(())))
    }

    /// Whether the request's own conditions name this response.
    private func isConfirmed(_ response: CachedResponse) -> Bool {
        func value(_ name: String) -> String? {
            request.headers.first { $0.key.lowercased() == name }?.value
        }
        if let tags = value("if-none-match") {
            return response.entityTag.map { tag in tags.contains(tag) || tags == "*" } ?? false
        }
        guard let date = value("if-modified-since") else { return false }
        return response.headers.contains { $0.isNamed("last-modified") && $0.value == date }
    }

    // MARK: The origin

    /// A stale response, and the conditions that revalidate it.
    private struct StaleResponse: Sendable {
        let stored: Stored
        let revalidation: HTTPCachePolicy.Revalidation
    }

    private func load(_ stale: StaleResponse?, claimed: Bool) {
        var request = request
        if let stale {
            // The stored response answers the caller's own conditions.
            request.headers = request.headers.filter { !HTTPHeader.conditionNames.contains($0.key.lowercased()) }
            for field in stale.revalidation.conditions { request.headers[field.name] = field.value }
        }
        let lease = claimed ? LeaseKeeper(store, name) : nil
        let recorder = OriginRecorder(limit: store.objectByteLimit)
        transfer.start { priority in
            base.load(request, priority: priority) { [self] event in receive(event, stale, recorder, lease) }
        }
    }

    private func receive(
        _ event: LoaderEvent, _ stale: StaleResponse?, _ recorder: OriginRecorder, _ lease: LeaseKeeper?
    ) {
        switch event {
        case .response(let response):
            recorder.begin(response)
            // A 304 answers the load's conditions, not the caller's.
            if stale == nil || response.statusCode != 304 { handler(event) }
        case .bytes(let bytes):
            recorder.append(bytes)
            handler(event)
        case .refused(let response) where stale != nil:
            // The stored response may be served instead.
            recorder.begin(response)
            recorder.refuse()
        case .report, .refused:
            if case .report(.metrics(let metrics)) = event { recorder.note(metrics) }
            handler(event)
        case .finished(let result):
            transfer.end()  // Another load may follow.
            finish(result, stale, recorder, lease)
        }
    }

    private func finish(
        _ result: Result<Void, WebImageError>, _ stale: StaleResponse?, _ recorder: OriginRecorder,
        _ lease: LeaseKeeper?
    ) {
        let head = recorder.head
        if let stale {
            let stored = stale.stored
            let validation = HTTPCachePolicy.validate(
                stored.response, stale.revalidation, statusCode: head?.statusCode, headers: head?.headers ?? [],
                requestTime: recorder.requestTime, responseTime: recorder.responseTime)
            switch validation {
            case .confirmed(let response):
                let address = stored.address ?? address(of: recorder)
                return serve(
                    Stored(response: response, body: stored.body, address: address), isFreshened: true)
            case .usableDespiteError where isTrouble(result):
                return serve(stored)
            case .unconfirmed: return load(nil, claimed: false)
            case .usableDespiteError, .replaced: break
            }
            if let head, recorder.isRefused { handler(.refused(head)) }
        }
        if case .success = result, let head {
            keep(head, recorder, lease)
        } else {
            release(lease)
        }
        handler(.finished(result))
    }

    private func isTrouble(_ result: Result<Void, WebImageError>) -> Bool {
        guard case .failure(let error) = result else { return false }
        return error != .cancelled
    }

    /// Writes a response that may be shared, once its body was decoded. Another one leaves a mark, so that no machine waits
    /// for it.
    private func keep(_ head: LoaderResponse, _ recorder: OriginRecorder, _ lease: LeaseKeeper?) {
        if head.statusCode == 304 { return release(lease) }
        let obstacle = HTTPCachePolicy.sharedObstacle(
            toStoring: head.statusCode, headers: head.headers, requestHeaders: headersSent)
        guard obstacle == nil, head.redirects.isEmpty, let body = recorder.body, !body.isEmpty else {
            return refuse(lease)
        }
        let response = CachedResponse(
            statusCode: 200, headers: head.headers, requestHeaders: headersSent, requestTime: recorder.requestTime,
            responseTime: recorder.responseTime)
        let result = Stored(response: response, body: body, address: address(of: recorder))
        let judgment = BodyJudgment(isFromSharedCache: false) { [self] verdict in
            switch verdict {
            case .image:
                lease?.end()
                write(result)
            case .noImage: refuse(lease)
            case .unknown: release(lease)
            }
        }
        handler(.report(.judged(by: judgment)))
    }

    /// Ends the lease, so that another machine may take it.
    private func release(_ lease: LeaseKeeper?) {
        guard let lease else { return }
        lease.end()
        store.removeLater(name)
    }

    /// Replaces the lease by the mark of a response that is not shared.
    private func refuse(_ lease: LeaseKeeper?) {
        guard let lease else { return }
        lease.end()
        var refusal = SharedObject(.refusal, name: name)
        refusal.texts.expires = Date().timeIntervalSince1970 + Self.refusalDuration
        store.write(refusal)
    }

    private func address(of recorder: OriginRecorder) -> String? {
        origin?.reportsServerAddress(of: request.url) == true ? recorder.address : nil
    }

    private func write(_ stored: Stored) {
        var object = SharedObject(.response, name: name, record: stored.response.encoded, content: stored.body)
        object.texts.address = stored.address
        store.write(object)
        guard !stored.response.varyingFieldNames.isEmpty else { return }
        object.texts.name = variantName(of: stored.response)
        store.write(object)
    }
}

extension WebImageError.BlockReason {
    /// The reason as a text for traces.
    fileprivate var addressText: String {
        switch self {
        case .unresolvedHost: "the address that it came from is unknown"
        default: "the address policy does not allow it"
        }
    }
}
