import WebImageCore
import WebImageProcessing

extension Pipeline {
    /// What makes previews of the bytes that `work` waits for; `nil` where none are wanted.
    ///
    /// - Parameter stored: the stored picture that is shown before them.
    func makePreviews(
        for work: SharedWork<WebImageResponse>, _ context: LoadContext, after stored: Preview
    ) -> ArrivingPreviews? {
        context.request.options.previews.map { ArrivingPreviews(for: work, context, $0, after: stored, self) }
    }

    /// Processes what has arrived, beside the wait for it; the newest goes before those that still wait. A
    /// preview that can't be processed is not shown.
    func processPreview(
        _ response: WebImageResponse, with processor: any ImageProcessor, into work: SharedWork<WebImageResponse>,
        _ context: LoadContext
    ) {
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
