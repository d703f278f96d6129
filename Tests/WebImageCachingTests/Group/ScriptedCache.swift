import FoundationEssentials
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

/// A custom cache that stores images in a dictionary, counts its calls, and replies when the test lets it.
final class ScriptedCache: ImageCaching {
    private struct State {
        var images: [ImageCacheKey: Image] = [:]
        var calls: [String] = []
    }

    let name: String
    private let log: LockBox<[String]>?
    private let state = LockBox(State())
    /// Each call waits for it, unless it is `nil`.
    private let door: Countdown?
    let cancelled = Countdown()
    let reached = Countdown()

    private let onEnd: @Sendable () -> Void

    /// - Parameters:
    ///   - log: gets the name at each call.
    ///   - onEnd: called when the cache is released.
    init(
        _ name: String = "", door: Countdown? = nil, log: LockBox<[String]>? = nil,
        onEnd: @escaping @Sendable () -> Void = {}
    ) {
        self.onEnd = onEnd
        self.name = name
        self.door = door
        self.log = log
    }

    deinit { onEnd() }

    var calls: [String] { state.withLock { $0.calls } }

    func put(_ image: Image, for key: ImageCacheKey) { state.withLock { $0.images[key] = image } }

    private func call(_ what: String) async {
        state.withLock { $0.calls.append(what) }
        log?.withLock { $0.append(name) }
        reached.signal()
        guard let door else { return }
        await withTaskCancellationHandler {
            try? await door.wait()
        } onCancel: {
            cancelled.signal()
        }
    }

    func image(inMemoryFor key: ImageCacheKey) -> Image? { state.withLock { $0.images[key] } }

    func image(for key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> ImageCacheResult? {
        await call("image")
        return image(inMemoryFor: key).map { ImageCacheResult(image: $0, tier: .memory) }
    }

    func data(for key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> ImageCacheResult? {
        await call("data")
        return image(inMemoryFor: key)?.data.map { ImageCacheResult(data: $0, tier: .disk) }
    }

    func store(
        _ image: Image?, data: Data?, for key: ImageCacheKey, in tiers: ImageCache.Tiers,
        attributes: DiskCache.Attributes
    ) async {
        await call("store \(tiers.rawValue)")
        state.withLock { $0.images[key] = image }
    }

    func remove(for key: ImageCacheKey, from tiers: ImageCache.Tiers) async {
        await call("remove")
        state.withLock { $0.images[key] = nil }
    }

    func tier(holding key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> CacheTier? {
        await call("tier")
        return image(inMemoryFor: key) == nil ? nil : .memory
    }

    func clear(_ tiers: ImageCache.Tiers) async {
        await call("clear")
        state.withLock { $0.images = [:] }
    }
}
