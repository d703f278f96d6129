internal import FoundationEssentials
internal import WebImage

/// The arguments of a `setImage` call.
struct SlotRequest {
    /// The request. Its priority applies while the view is on screen and is `high` by default. Off screen it is at most
    /// `low`.
    var request: WebImageRequest
    var options: SetImageOptions = []
    var placeholder: Placeholder?
    var manager: WebImageManager
    var progress: ImageSlot.ProgressHandler?
    var preview: ImageSlot.PreviewHandler?
    var completion: ImageSlot.CompletionHandler?
    /// Whether the request has waited for scrolling to end.
    var hasWaited = false

    /// Whether both requests are for the same image, and this one does not require a new one.
    func isForSameImage(as earlier: SlotRequest) -> Bool {
        manager === earlier.manager && request.isForSameImage(as: earlier.request)
    }

    /// Whether the load joins the transfer of `operation`, the load of `earlier`.
    func sharesTransfer(of operation: WebImageOperation, _ earlier: SlotRequest?) -> Bool {
        guard let earlier, manager === earlier.manager, request.url == earlier.request.url else { return false }
        return manager.load(of: request, sharesTransferOf: operation)
    }

    mutating func releaseClosures() { (progress, preview, completion, hasWaited) = (nil, nil, nil, false) }

    /// The priority on screen.
    var priority: LoadPriority { request.priority(otherwise: .high) }

    func priority(isOnScreen: Bool) -> LoadPriority { isOnScreen ? priority : min(priority, .low) }
}
