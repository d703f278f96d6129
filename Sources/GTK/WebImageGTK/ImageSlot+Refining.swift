internal import WebImage

/// More pixels for a view that has grown.
extension ImageSlot {
    /// Loads the image on display with more pixels. The state does not change, because the image is already loaded for
    /// the caller.
    func refine(_ sizedRequest: WebImageRequest) {
        guard let current else { return }
        sentinel += 1
        var request = sizedRequest
        request.priority = priority
        request.cachePolicy = .cacheFirst
        let operation = current.manager.load(request, callbackQueue: ApplyQueue.main) { [weak self, sentinel] result in
            MainActor.assumeIsolated { self?.refinementDidEnd(sentinel, result) }
        }
        phase = .refining(operation)
    }

    private func refinementDidEnd(_ number: Int, _ result: Result<WebImageResponse, WebImageError>) {
        guard number == sentinel else { return }
        phase = .ended(isShown: true)
        // After a failure the image with fewer pixels stays, until the view changes again.
        guard case .success(let response) = result else { return sizedRequest = coarseRequest }
        image = response.image
        painter.refine(response.image)
        // The view may have grown further.
        displaySizeDidChange()
    }

    func stopRefining() {
        guard case .refining = phase else { return }
        stopLoading()
        phase = .ended(isShown: true)
        sizedRequest = coarseRequest
    }
}
