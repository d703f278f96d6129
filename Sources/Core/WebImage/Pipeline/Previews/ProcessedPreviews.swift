import WebImageCore
import WebImageProcessing

/// Processes previews of one body on the decoding threads while the rest arrives.
///
/// One preview is processed at a time, and then the latest one. A slow processor skips previews, and is not stopped by
/// newer ones. A preview that cannot be processed is not shown.
final class ProcessedPreviews: Sendable {
    private let load: ImageLoad
    private let processor: ImageProcessor
    private let state = Lock((newest: WebImageResponse?.none, pace: PreviewPace()))

    init(for load: ImageLoad, with processor: ImageProcessor) {
        self.load = load
        self.processor = processor
    }

    private var pipeline: Pipeline { load.pipeline }

    /// Queues a preview, in place of one that waits.
    func show(_ response: WebImageResponse) {
        let last = state.withLock { state in
            defer { state.newest = response }
            return state.newest
        }
        withExtendedLifetime(last) {}
        update()
    }

    private func update() {
        let now = pipeline.previewTiming.now()
        let delay = state.withLock { $0.newest == nil ? nil : $0.pace.next(at: now) }
        guard let delay else { return }
        guard delay == .zero else {
            return pipeline.previewTiming.call(delay) { [weak self] in
                self?.state.withLock { $0.pace.endWait() }
                self?.update()
            }
        }
        load.job.runBeside { priority in
            pipeline.decodingQueue.run(priority: priority) { [self] cancellation in process(cancellation) }
        }
    }

    private func process(_ cancellation: Cancellation) {
        let begun = pipeline.previewTiming.now()
        if var response = state.withLock({ $0.newest.take() }),
            let image = try? pipeline.process(response.image, with: processor, load.context, cancellation),
            !cancellation.isCancelled
        {
            response.image = image
            load.job.report(provisional: response)
        }
        let ended = pipeline.previewTiming.now()
        state.withLock { $0.pace.end(due: PreviewTiming.earliest(begun: begun, ended: ended)) }
        if !cancellation.isCancelled { update() }
    }
}
