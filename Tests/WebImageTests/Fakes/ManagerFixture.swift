import FoundationEssentials
import WebImage
import WebImageTestSupport

/// A manager with a scripted loader, its own memory cache and a disk cache in a temporary directory.
struct ManagerFixture {
    let directory: TemporaryDirectory
    let loader: ScriptedLoader
    let cache: ImageCache
    let manager: WebImageManager

    init(
        decoder: ProbeDecoder? = nil, isCacheable: Bool = true, callbackQueue: (any CallbackQueue)? = nil,
        damage: DecodingOptions.Damage? = nil,
        configure: (inout WebImageManager.Configuration) -> Void = { _ in }
    ) throws {
        directory = try TemporaryDirectory()
        loader = ScriptedLoader(isCacheable: isCacheable)
        cache = ImageCache(
            memory: MemoryCache(costLimit: 64 << 20),
            disk: DiskCache(in: directory))
        let codecs = CodecRegistry()
        if let decoder { codecs.register(decoder) }
        var configuration = WebImageManager.Configuration(
            cache: cache, loaders: [loader], codecs: codecs, callbackQueue: callbackQueue)
        if let damage { configuration.damage = damage }
        configure(&configuration)
        manager = WebImageManager(configuration: configuration)
    }

    static func url(_ name: String) throws -> URL {
        guard let url = URL(string: "scripted://host/\(name)") else { throw WebImageError.invalidURL(name) }
        return url
    }

    /// Loads `request` and answers it with `picture`.
    func load(_ request: WebImageRequest, answeringWith picture: SolidPicture) async throws -> WebImageResponse {
        async let response = manager.response(for: request)
        try await nextLoad().answer(picture.png())
        return try await response
    }

    /// Loads `request` and answers it with `data`.
    func load(_ request: WebImageRequest, answeringWith data: Data) async throws -> WebImageResponse {
        async let response = manager.response(for: request)
        try await nextLoad().answer(data)
        return try await response
    }

    func nextLoad() async throws -> ScriptedLoad { try await loader.loads.first() }
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
