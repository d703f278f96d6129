import Dispatch
import FoundationEssentials
import WebImage
import WebImageTestSupport

/// One request under way: notes what its handlers are told, and what of that should not have been.
final class StressRecord: Sendable {
    private struct State {
        var operation: WebImageOperation?
        var task: Task<Void, Never>?
        var endCount = 0
        var isCancelExpected = false
        /// A cancel on its callback queue has returned.
        var isSilenced = false
        /// A cancel on another thread has returned; what was told since, but for the end of a cancelled load.
        var isCancelled = false
        var laterEventCount = 0
        var received: Int64?
    }

    let plan: StressPlan
    private let run: StressRun
    private let state = LockBox(State())
    private let ended: Countdown

    init(_ plan: StressPlan, in run: StressRun, ended: Countdown) {
        self.plan = plan
        self.run = run
        self.ended = ended
    }

    var isEnded: Bool { state.withLock { $0.endCount > 0 } }

    private func complain(_ text: String) {
        run.violations.add("\(plan.number) \(plan.variant) \(plan.request.cachePolicy) by \(plan.way): \(text)")
    }

    // MARK: Asking

    func start() {
        var request = plan.request
        // Tells when the last reference to the request has gone; every other one stays as standard as it is.
        let witness = run.makeWitness()
        if plan.number.isMultiple(of: 2) { request.userInfo["witness"] = witness }
        switch plan.way {
        case .callbacks:
            let operation = run.manager.load(
                request, callbackQueue: run.queues[plan.queueIndex],
                progress: { [self] received, expected in
                    withExtendedLifetime(witness) { noteProgress(received, expected) }
                },
                preview: { [self] image in notePreview(image) }, completion: { [self] result in noteEnd(result) })
            run.watch(operation)
            state.withLock { $0.operation = operation }
        case .response:
            let task = Task { [self] in
                do throws(WebImageError) {
                    noteEnd(.success(try await run.manager.response(for: request)))
                } catch {
                    noteEnd(.failure(error))
                }
            }
            state.withLock { $0.task = task }
        case .events:
            let task = Task { [self] in await read(run.manager.events(for: request)) }
            state.withLock { $0.task = task }
        }
        // Else they would keep each other.
        if isEnded { letGo() }
    }

    private func read(_ events: some AsyncSequence<LoadEvent, Never>) async {
        var iterator = events.makeAsyncIterator()
        while let event = await iterator.next(isolation: nil) {
            switch event {
            case .progress(let received, let expected):
                noteProgress(received, expected)
                if plan.fate == .cancelledByProgress { return noteEnd(.failure(.cancelled)) }
            case .preview(let image):
                notePreview(image)
                if plan.fate == .cancelledByPreview { return noteEnd(.failure(.cancelled)) }
            case .finished(let result): noteEnd(result)
            }
        }
        if !isEnded { complain("the events ended without an end") }
    }

    func changePriority() {
        guard let priority = plan.laterPriority else { return }
        state.withLock { $0.operation }?.priority = priority
    }

    // MARK: Cancelling

    /// From any thread.
    func cancel() {
        let (operation, task) = state.withLock { state in
            state.isCancelExpected = true
            return (state.operation, state.task)
        }
        task?.cancel()
        guard let operation else { return }
        operation.cancel()
        state.withLock { $0.isCancelled = true }
    }

    /// On the queue that its handlers are called on.
    func cancelOnItsQueue() {
        guard plan.way == .callbacks else { return cancel() }
        run.queues[plan.queueIndex].async { [self] in cancelInHandler() }
    }

    private func cancelInHandler() {
        let operation = state.withLock { state in
            state.isCancelExpected = true
            return state.operation
        }
        // The handler came before the call that names the operation has returned.
        guard let operation else { return }
        operation.cancel()
        state.withLock { $0.isSilenced = true }
    }

    /// It is about to be cancelled by others.
    func expectCancel() { state.withLock { $0.isCancelExpected = true } }

    // MARK: Being told

    /// Whether something besides the end may be told now.
    private func noteEvent(_ name: String) {
        let fault = state.withLock { state -> String? in
            if state.endCount > 0 { return "\(name) after the end" }
            if state.isSilenced { return "\(name) after a cancel on the callback queue" }
            if state.isCancelled { state.laterEventCount += 1 }
            return state.laterEventCount > 1 ? "\(name), second after a cancel" : nil
        }
        if let fault { complain(fault) }
    }

    private func noteProgress(_ received: Int64, _ expected: Int64?) {
        noteEvent("progress")
        let isInOrder = state.withLock { state in
            defer { state.received = received }
            return received == 0 || received >= state.received ?? .max
        }
        if !isInOrder { complain("progress \(received) out of order") }
        if let expected, received > expected { complain("progress \(received) of \(expected)") }
        if plan.fate == .cancelledByProgress, plan.way == .callbacks { cancelInHandler() }
    }

    private func notePreview(_ image: Image) {
        noteEvent("a preview")
        let (reading, isSound) = StressReading.partial(image)
        if !isSound { complain("a preview of several colours") }
        if let reading, reading.number != plan.number, reading.number != plan.lowResolutionNumber {
            complain("a preview of \(reading.number)")
        }
        if let reading, reading.marks != plan.variant.marks { complain("a preview with marks \(reading.marks)") }
        if plan.fate == .cancelledByPreview, plan.way == .callbacks { cancelInHandler() }
    }

    private func noteEnd(_ result: Result<WebImageResponse, WebImageError>) {
        let (isFirst, fault) = state.withLock { state -> (Bool, String?) in
            state.endCount += 1
            guard state.endCount == 1 else { return (false, "ended \(state.endCount) times") }
            guard case .success = result else { return (true, nil) }
            if state.isSilenced { return (true, "a picture after a cancel on the callback queue") }
            return (true, state.isCancelled && state.laterEventCount > 0 ? "a picture after a cancel" : nil)
        }
        if let fault { complain(fault) }
        switch result {
        case .success(let response):
            if let fault = self.fault(of: response) { complain("\(fault) (\(response.origin))") }
        case .failure(let error): if let fault = self.fault(of: error) { complain(fault) }
        }
        guard isFirst else { return }
        run.count(result, plan)
        if plan.fate == .cancelledByItsEnd { cancelInHandler() }
        letGo()
        ended.signal()
    }

    private func letGo() {
        let held = state.withLock { state in
            defer { (state.operation, state.task) = (nil, nil) }
            return (state.operation, state.task)
        }
        withExtendedLifetime(held) {}
    }

    // MARK: Judging

    private func fault(of response: WebImageResponse) -> String? {
        let request = plan.request
        if let fault = plan.variant.fault(of: response.image, number: plan.number) { return fault }
        if plan.variant == .broken { return "a picture of a processor that fails" }
        if response.url != request.url { return "the URL \(response.url)" }
        switch (response.origin, request.cachePolicy) {
        case (.remote, .cacheOnly), (.remote, .offline), (.memoryCache, .reload), (.diskCache, .reload):
            return "\(response.origin) under \(request.cachePolicy)"
        default: break
        }
        if response.origin == .diskCache, !request.originalCacheAccess.query.contains(.disk), !plan.keepsVariantOnDisk {
            return "from the disk"
        }
        if let reading = StressReading(whole: response.image), plan.variant != .undecoded {
            guard run.source.hasSent(plan.number, edition: reading.edition) else { return "an edition never sent" }
            guard let data = response.data, !plan.keepsVariantOnDisk else { return nil }
            return run.source.hasSent(data, as: plan.number, edition: reading.edition) ? nil : "other bytes"
        }
        return run.source.hasSent(response.data ?? Data(), as: plan.number, edition: nil) ? nil : "other bytes"
    }

    private func fault(of error: WebImageError) -> String? {
        let isExplained =
            switch error {
            case .cancelled: state.withLock { $0.isCancelExpected } || plan.fate != .stays && plan.way == .events
            case .notInCache: [.cacheOnly, .offline].contains(plan.request.cachePolicy)
            case .blocked: plan.request.respectsBlockList
            case .processing: plan.variant == .broken
            case .transport, .httpStatus, .invalidResponse(.truncated, _), .invalidResponse(.contentType, _), .decoding,
                .unrecognizedFormat:
                !run.source.isSound(plan.number)
            default: false
            }
        return isExplained ? nil : "\(error)"
    }
}
