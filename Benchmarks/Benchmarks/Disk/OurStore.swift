import Dispatch
import FoundationEssentials
import WebImageCaching

/// The disk cache, without limits that would make it remove what the others keep.
final class OurStore: DiskStore {
    let cache: DiskCache

    init(directory: String) {
        var configuration = DiskCache.Configuration(directory: URL(filePath: directory))
        configuration.sizeLimit = 1 << 40
        configuration.freeSpaceFloor = 0
        cache = DiskCache(configuration: configuration)
    }

    func session() -> any DiskSession { OurSession(cache: cache) }
    func waitUntilWritten() { cache.waitUntilWritten() }
}

private final class OurSession: DiskSession {
    private let cache: DiskCache

    init(cache: DiskCache) { self.cache = cache }

    /// No more than 24 MiB a thread wait to be written: beyond 64 MiB the cache takes nothing.
    func set(_ places: Range<Int>, of entries: DiskEntries, generation: Int) {
        let slots = DispatchSemaphore(value: (24 << 20) / entries.byteCounts.upperBound)
        for place in places {
            slots.wait()
            cache.store(entries.value(place, generation: generation), for: entries.keys[place]) { slots.signal() }
        }
        cache.waitUntilWritten()
    }

    func remove(_ places: Range<Int>, of entries: DiskEntries) {
        for place in places { cache.remove(for: entries.keys[place]) }
        cache.waitUntilWritten()
    }

    func get<Result>(_ key: String, byteCount: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        cache.blockingData(for: key).map { $0.withUnsafeBytes(body) }
    }
}
