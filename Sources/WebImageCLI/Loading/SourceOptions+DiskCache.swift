internal import FoundationEssentials
internal import WebImage

extension SourceOptions.Cache {
    /// - Parameter onFailure: called once for each cause when the cache cannot be used.
    func open(onFailure: @escaping @Sendable (WebImageError) -> Void) -> DiskCache {
        var configuration: DiskCache.Configuration
        switch self {
        case .standard:
            let directory = DiskCache.Configuration.defaultDirectory(application: "webimage")
            configuration = DiskCache.Configuration(directory: directory)
        case .directory(let path):
            configuration = DiskCache.Configuration(directory: URL(filePath: path, directoryHint: .isDirectory))
        }
        let reported = Lock<[WebImageError]>([])
        configuration.onFailure = { error in
            let isNew = reported.withLock { reported in
                defer { reported.append(error) }
                return !reported.contains(error)
            }
            if isNew { onFailure(error) }
        }
        return DiskCache(configuration: configuration)
    }
}
