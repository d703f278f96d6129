import FoundationEssentials
import WebImageCaching
public import WebImageLoading

extension WebImageManager.Configuration {
    /// What becomes of transfers that are cut, cancelled, or end with the program.
    public enum Resumption: Sendable {
        /// Their bytes are kept in the folder `partial` of the disk cache's directory, at most 64 MiB, for at most 7 days, and
        /// continued; without a disk cache they are not kept.
        case besideDiskCache
        /// They are kept in a store of one's own.
        case store(PartialBodyStore)
        /// Each begins anew.
        case off

        func store(for cache: ImageCache) -> PartialBodyStore? {
            switch self {
            case .off: return nil
            case .store(let store): return store
            case .besideDiskCache:
                guard let disk = cache.disk?.configuration else { return nil }
                // Inside, not above: two caches side by side may be for users that must not see each other's.
                var configuration = PartialBodyStore.Configuration(directory: disk.directory.appending(path: "partial"))
                configuration.freeSpaceFloor = disk.freeSpaceFloor
                return PartialBodyStore(configuration: configuration)
            }
        }
    }
}

extension Pipeline {
    /// The request's loader, as one that continues interrupted bodies where it can and the request lets the disk be used.
    func loader(for context: LoadContext) -> any ImageLoader {
        guard let partialBodies, context.usesDiskCache, context.loader is any ResumableLoader else {
            return context.loader
        }
        return ResumingLoader(context.loader, store: partialBodies)
    }
}
