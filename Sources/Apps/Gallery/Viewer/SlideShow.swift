import CWebImageGTK
import GTKObjects
import WebImageGTK

/// Shows one image after the other, each for the same time after it has loaded.
@MainActor final class SlideShow {
    private(set) var isPlaying = false
    private var call: MainLoopCall?
    /// Called when it is time for the next image.
    var onAdvance: () -> Void = {}
    /// Called after the start and the end.
    var onChange: () -> Void = {}

    func start() {
        guard !isPlaying else { return }
        isPlaying = true
        onChange()
    }

    func stop() {
        guard isPlaying else { return }
        (isPlaying, call) = (false, nil)
        onChange()
    }

    /// Called when an image has loaded or failed, perhaps several times.
    func imageDidSettle(after duration: Duration) {
        guard isPlaying, call == nil else { return }
        call = MainLoopCall.after(milliseconds: UInt32(max(0.1, duration / .seconds(1)) * 1_000)) { [weak self] in
            self?.call = nil
            self?.onAdvance()
        }
    }
}
