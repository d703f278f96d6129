extension WebImageManager {
    /// Whether a load of `request` joins the transfer of `operation`, a load of the same URL by this manager.
    public func load(of request: WebImageRequest, sharesTransferOf operation: WebImageOperation) -> Bool {
        guard let (pipeline, context) = place(of: prepared(request)),
            let (otherPipeline, other) = place(of: operation.request), pipeline === otherPipeline
        else { return false }
        return context.bytesKey(sources: context.byteSources) == other.bytesKey(sources: other.byteSources)
    }
}
