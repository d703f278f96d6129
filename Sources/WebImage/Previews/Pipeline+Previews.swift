import WebImageCore
import WebImageProcessing

extension Pipeline {
    /// What makes previews of the bytes that `work` waits for; `nil` where none are wanted.
    func makePreviews(for work: SharedWork<WebImageResponse>, _ context: LoadContext) -> ArrivingPreviews? {
        context.request.options.previews.map { ArrivingPreviews(for: work, context, $0, self) }
    }

    /// Processes what will do until the end, beside the wait for it; the newest goes before those that still wait. A
    /// preview that can't be processed is not shown.
    func processPreview(
        _ response: WebImageResponse, with processor: any ImageProcessor, into work: SharedWork<WebImageResponse>,
        _ context: LoadContext
    ) {
        // Lengths that suit one size don't suit another.
        guard !response.isStandIn else { return }
        work.runBeside { priority in
            let cancellation = Cancellation()
            let item = decodingQueue.submit(priority: priority) { [self] in
                var response = response
                guard let image = try? process(response.image, with: processor, context, cancellation) else { return }
                response.image = image
                if !cancellation.isCancelled { work.report(provisional: response) }
            }
            return QueuedStep(item: item, cancellation: cancellation)
        }
    }
}
