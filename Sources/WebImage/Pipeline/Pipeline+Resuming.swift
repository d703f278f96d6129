import FoundationEssentials
public import WebImageCaching
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
                return cache.disk?.partialBodies
            }
        }
    }
}

extension DiskCache {
    /// The interrupted bodies of managers that use this cache, unless they keep them elsewhere; ``removeAll(progress:)`` leaves
    /// them alone.
    public var partialBodies: PartialBodyStore {
        // Inside, not beside: of two caches side by side, one may be for users that must not see what the other has.
        var configuration = PartialBodyStore.Configuration(
            directory: self.configuration.directory.appending(path: "partial"))
        configuration.freeSpaceFloor = self.configuration.freeSpaceFloor
        return PartialBodyStore(configuration: configuration)
    }
}

extension Pipeline {
    /// `loader` as one that continues interrupted bodies, where it can and the request lets the disk be used.
    func resuming(_ loader: any ImageLoader, for context: LoadContext) -> any ImageLoader {
        guard let partialBodies, context.usesDiskCache, loader is any ResumableLoader else { return loader }
        return ResumingLoader(loader, store: partialBodies)
    }
}
