import Dispatch
import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage

/// A manager with a scripted loader, its own memory cache and a disk cache in a temporary directory.
struct ManagerFixture {
    let directory: TemporaryDirectory
    let loader: ScriptedLoader
    let cache: ImageCache
    let manager: WebImageManager
    /// The clock for the age of stored responses; it stands still.
    let time: TestTime

    init(
        decoder: ProbeDecoder? = nil, isCacheable: Bool = true, callbackQueue: (any CallbackQueue)? = nil,
        allowsDamage: Bool? = nil, hasDisk: Bool = true,
        configure: (inout WebImageManager.Configuration) -> Void = { _ in }
    ) throws {
        directory = try TemporaryDirectory()
        loader = ScriptedLoader(isCacheable: isCacheable)
        cache = ImageCache(
            memory: MemoryCache(costLimit: 64 << 20),
            disk: hasDisk ? DiskCache(in: directory) : nil)
        time = TestTime()
        let codecs = CodecRegistry()
        if let decoder { codecs.register(decoder) }
        var configuration = WebImageManager.Configuration(
            cache: cache, loaders: [loader], codecs: codecs, callbackQueue: callbackQueue)
        if let allowsDamage { configuration.allowsDamage = allowsDamage }
        configuration.environment.date = { [time] in time.now }
        configure(&configuration)
        manager = WebImageManager(configuration: configuration)
    }

    static func url(_ name: String) throws -> URL {
        guard let url = URL(string: "scripted://host/\(name)") else { throw WebImageError.invalidURL(name) }
        return url
    }

    /// Loads `request` and answers it with `picture`.
    func load(_ request: WebImageRequest, answeringWith picture: SolidPicture) async throws -> WebImageResponse {
        try await load(request) { try $0.answer(picture.png()) }
    }

    /// Loads `request` and answers it with `data`.
    func load(_ request: WebImageRequest, answeringWith data: Data) async throws -> WebImageResponse {
        try await load(request) { $0.answer(data) }
    }

    /// Loads `request`; its loader does as `answer` says. Throws ``NoLoaderCalled`` where something else than the
    /// loader answers; after that, or another end without a load, there is none to be had from the loader.
    func load(
        _ request: WebImageRequest, _ answer: @escaping @Sendable (ScriptedLoad) throws -> Void
    ) async throws -> WebImageResponse {
        let loadCount = loader.loadCount
        return try await withThrowingTaskGroup(of: WebImageResponse?.self) { group in
            group.addTask { try await manager.response(for: request) }
            group.addTask {
                try await answer(nextLoad())
                return nil
            }
            var response: WebImageResponse?
            while let next = try await group.next() {
                response = next ?? response
                if response != nil, loader.loadCount == loadCount { throw NoLoaderCalled() }
            }
            guard let response else { throw NoLoaderCalled() }
            return response
        }
    }

    /// The load that a test expected has not started.
    struct NoLoaderCalled: Error {}

    /// Does what a view does: asks what can be shown at once, and loads what cannot. Returns the result of the load;
    /// `nil` without one.
    ///
    /// - Parameter picture: what the loader answers; `nil` if it is not asked.
    func show(
        _ request: WebImageRequest, _ picture: SolidPicture?
    ) async throws -> Result<WebImageResponse, WebImageError>? {
        guard case .none(let prepared) = manager.answerAtOnce(to: request) else { return nil }
        let results = Results()
        _ = manager.load(
            prepared,
            WebImageOperation.Callbacks(DispatchQueue(label: "view"), completion: { results.note($0) }))
        if let picture { try await nextLoad().answer(picture.png()) }
        return await results.wait(for: 1).first
    }

    /// Calls the manager's function of this name, also for tests that are `async`.
    func blockingCachedImage(for request: WebImageRequest) -> Image? { manager.blockingCachedImage(for: request) }

    func nextLoad() async throws -> ScriptedLoad { try await loader.loads.first() }
}

/// A clock on the wall, which the test sets.
final class TestTime: Sendable {
    private let date: LockBox<Date>

    init(_ date: Date = Date(timeIntervalSince1970: 1_000_000_000)) { self.date = LockBox(date) }

    var now: Date { date.withLock { $0 } }

    func advance(seconds: Double) { date.withLock { $0 += seconds } }
}

extension DiskCache {
    /// A cache in `directory`, which is deleted when the last write is done, and not before.
    convenience init(in directory: TemporaryDirectory) {
        var configuration = Configuration(directory: directory.url("cache"))
        let report = configuration.onFailure
        configuration.onFailure = { error in withExtendedLifetime(directory) { report(error) } }
        self.init(configuration: configuration)
    }
}

extension AsyncStream where Element: Sendable {
    /// The next element; a stream may be read again and again this way.
    func first() async throws -> Element {
        for await element in self { return element }
        throw WebImageError.cancelled
    }
}

extension WebImageManager {
    /// The cache of a manager that has no custom one.
    var imageCache: ImageCache {
        guard let cache = configuration.cache as? ImageCache else { preconditionFailure("a custom cache") }
        return cache
    }
}

extension WebImageRequest {
    /// Returns the request with a change.
    func with(_ change: (inout WebImageRequest) -> Void) -> WebImageRequest {
        var request = self
        change(&request)
        return request
    }

    /// Returns the request without access to the disk cache.
    var withoutDisk: WebImageRequest { with { $0.originalCacheAccess = .none } }
    /// Returns the request without writing to the disk cache.
    var withoutStoringOnDisk: WebImageRequest { with { $0.originalCacheAccess = CacheAccess(query: .disk, store: []) } }
    /// Returns the request for the block list's sake.
    var ignoringFailedURLs: WebImageRequest { with { $0.respectsBlockList = true } }
}

extension ManagerFixture {
    /// The previews of a load of which `parts` arrive one after the other, each when the previous one has been shown, and its end.
    func previews(
        of data: Data, parts: [Double], _ request: WebImageRequest
    ) async throws -> (previews: [Image], result: WebImageResponse) {
        let (shown, results) = (LockBox<[Image]>([]), Results())
        let signals = parts.map { _ in Countdown() }
        manager.load(
            request,
            preview: { image in
                let count = shown.withLock { shown in
                    shown.append(image)
                    return shown.count
                }
                if count <= signals.count { signals[count - 1].signal() }
            }, completion: results.note)
        let load = try await nextLoad()
        load.begin(expectedByteCount: Int64(data.count))
        var sent = 0
        for (part, signal) in zip(parts, signals) {
            let end = Int(Double(data.count) * part)
            load.send(data[sent..<end])
            sent = end
            try await signal.wait()
        }
        load.send(data[sent...])
        load.end(.success(()))
        let result = try await results.wait(for: 1)[0].get()
        #expect(!result.image.isPartial)
        return (shown.withLock { $0 }, result)
    }
}
