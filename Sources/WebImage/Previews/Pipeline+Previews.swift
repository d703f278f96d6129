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

    /// What processes those previews; `nil` where none are wanted.
    func processPreviews(
        for work: SharedWork<WebImageResponse>, _ context: LoadContext, with processor: any ImageProcessor
    ) -> ProcessedPreviews? {
        context.request.options.previews.map { _ in ProcessedPreviews(for: work, context, with: processor, self) }
    }
}
