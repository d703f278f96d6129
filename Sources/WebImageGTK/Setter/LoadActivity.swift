internal import CWebImageGTK
internal import WebImage

/// What a load does to the program around it, from its start to its end: network activity is shown, and the program stays
/// for a load with ``WebImageOptions/continueInBackground``.
@MainActor final class LoadActivity {
    private let isRemote: Bool
    private var isCounted = false
    private var hold: ApplicationHold?

    init(_ request: WebImageRequest) {
        // As in YYWebImage, files never count.
        isRemote = !request.url.isFileURL && request.url.scheme != "data"
        if request.options.contains(.continueInBackground) { hold = ApplicationHold() }
    }

    /// A loader is at work: there is no progress from a cache.
    func didReceive() {
        guard isRemote, !isCounted else { return }
        isCounted = true
        NetworkActivity.shared.count += 1
    }

    func didEnd() {
        hold = nil
        guard isCounted else { return }
        isCounted = false
        NetworkActivity.shared.count -= 1
    }
}

/// Keeps the program's `GApplication` running, also without a window, for as long as it lives.
@MainActor final class ApplicationHold {
    private let application: ObjectReference?

    init() {
        application = g_application_get_default().map { ObjectReference(retaining: ObjectPointer($0)) }
        if let application { g_application_hold(application.asApplication) }
    }

    isolated deinit { if let application { g_application_release(application.asApplication) } }
}

extension ObjectReference {
    fileprivate var asApplication: UnsafeMutablePointer<GApplication> {
        pointer.address.assumingMemoryBound(to: GApplication.self)
    }
}
