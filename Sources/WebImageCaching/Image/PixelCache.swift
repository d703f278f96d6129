internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import Synchronization
internal import WebImageCoding
internal import WebImageCore

/// Thumbnails and processed images as pixels on disk, which are copied into memory instead of decoded.
///
/// ```
///  directory/              originals: their bytes as they came
///  directory/pixels/       this cache, a ``DiskCache`` of ``PixelFile``s, with a limit and an age of its own
/// ```
///
/// An image is served only while the bytes that it was made from are stored as the original: new bytes, another response
/// by `Vary`, a removal and a 404 invalidate it, whichever process made the change. What HTTP says about the original
/// applies to it, too. Its use counts as one of the original, which therefore is not evicted first.
///
/// Files are read, not mapped: copying 300 KB takes 40 µs, a mapping as long for its page faults, and a file that is
/// truncated or on a failing disk is a miss instead of a signal.
final class PixelCache: Sendable {
    private let disk: DiskCache
    private let originals: DiskCache
    /// Whether the directory exists. Look-ups must not create it.
    private let exists = Atomic(false)
    /// The pixels that wait to be written.
    private let waiting = ByteBudget(byteLimit: 64 << 20)
    private let writes = DispatchGroup()
    /// The last store of each key that is not written yet. A removal takes it away, so that stale pixels are not written.
    private let unwritten = Lock((stores: [String: Int](), lastNumber: 0))

    /// Returns `nil` if the limit is 0.
    ///
    /// - Parameter originals: has the original bytes.
    init?(originals: DiskCache, byteLimit: Int64?, ageLimit: Double?) {
        guard byteLimit != 0 else { return nil }
        var configuration = originals.configuration.forPixels
        if let byteLimit { configuration.sizeLimit = byteLimit }
        if let ageLimit { configuration.ageLimit = ageLimit }
        disk = DiskCache(configuration: configuration)
        self.originals = originals
    }

    /// The directory.
    var path: String { disk.configuration.directory.path }

    /// The longest value: 16 of them fit.
    private var valueByteLimit: Int64 { (disk.configuration.sizeLimit ?? 1 << 30) / 16 }

    // MARK: Looking up

    /// Whether there may be any images.
    var mayHaveImages: Bool {
        if exists.load(ordering: .relaxed) { return true }
        guard access(path, F_OK) == 0 else { return false }
        exists.store(true, ordering: .relaxed)
        return true
    }

    /// Returns the image and its original's entry. Blocks on the disk.
    ///
    /// - Parameter original: the key of the original bytes.
    func find(_ key: String, madeFrom original: String) -> (image: Image, entry: DiskCache.Entry)? {
        disk.openOnce()
        originals.openOnce()
        guard let data = disk.find(key) else { return nil }
        guard let mark = PixelFile.original(of: data) else {
            disk.remove(for: key)
            return nil
        }
        guard let entry = originals.findEntry(original, countsAsUse: true) else { return nil }
        guard entry.mark == mark, let file = PixelFile(data) else {
            disk.remove(for: key)
            return nil
        }
        return (file.image, entry)
    }

    /// Like ``find(_:madeFrom:)``, on a reading thread.
    func load(
        _ key: String, madeFrom original: String, priority: LoadPriority,
        completion: @escaping @Sendable ((image: Image, entry: DiskCache.Entry)?) -> Void
    ) -> WorkItem {
        disk.onReadingThread(priority: priority) { completion(self.find(key, madeFrom: original)) }
    }

    /// Returns an entry, whether or not its original is still stored. This does not count as a use.
    func entry(for key: String) async -> DiskCache.Entry? { mayHaveImages ? await disk.entry(for: key) : nil }

    // MARK: Changing

    /// Stores an image without delaying other work, on a decoding thread.
    ///
    /// - Parameter mark: the original bytes.
    func store(_ image: Image, madeFrom mark: BytesMark, for key: String) {
        let byteCount = image.width * image.height * 4
        guard byteCount <= valueByteLimit, !image.isPartial, image.animation == nil,
            !DiskDirectory(path: originals.configuration.directory.path).isReadOnly
        else { return }
        exists.store(true, ordering: .relaxed)
        let number = unwritten.withLock { unwritten in
            unwritten.lastNumber += 1
            unwritten.stores[key] = unwritten.lastNumber
            return unwritten.lastNumber
        }
        // Beyond the limit, decoding waits for the work.
        guard let share = waiting.holdIfPossible(byteCount) else { return write(image, mark, key, number) }
        writes.enter()
        DecodingQueue.shared.submit(priority: .low) {
            self.write(image, mark, key, number)
            share.settle(0)
            self.writes.leave()
        }
    }

    /// - Parameter number: of the store.
    private func write(_ image: Image, _ mark: BytesMark, _ key: String, _ number: Int) {
        let data = PixelFile(image, madeFrom: mark).encoded()
        // The disk cache notes a change and writes later, so that a removal here is either before this store or after.
        unwritten.withLock { unwritten in
            guard unwritten.stores[key] == number else { return }
            unwritten.stores[key] = nil
            if let data { disk.store(data, for: key) }
        }
    }

    func remove(for key: String) {
        guard mayHaveImages else { return }
        unwritten.withLock { unwritten in
            unwritten.stores[key] = nil
            disk.remove(for: key)
        }
    }

    func removeAll() async {
        guard mayHaveImages else { return }
        unwritten.withLock { $0.stores = [:] }
        await disk.removeAll()
    }

    // MARK: Upkeep

    /// Calls `completion` when everything stored before is on disk.
    func whenWritten(_ completion: @escaping @Sendable () -> Void) {
        writes.notify(queue: .global()) { [disk] in disk.submit { _ in completion() } }
    }

    /// `nil` if nothing was ever stored.
    func statistics() async -> DiskCache.Statistics? { mayHaveImages ? await disk.statistics() : nil }
}

extension DiskCache {
    /// The pixels beside this cache, for maintenance; `nil` if there are none.
    package var pixels: DiskCache? {
        let configuration = configuration.forPixels
        guard access(configuration.directory.path, F_OK) == 0 else { return nil }
        return DiskCache(configuration: configuration)
    }
}

extension DiskCache.Configuration {
    /// The configuration of the pixels beside a cache with this one.
    fileprivate var forPixels: Self {
        var configuration = self
        configuration.directory = directory.appending(path: "pixels")
        configuration.sizeLimit = sizeLimit.map { min($0, 1 << 30) }
        configuration.countLimit = nil
        // A thumbnail of 500 × 500. Segments are written quicker than files.
        configuration.fileThreshold = 1 << 20
        configuration.expiration = .never
        configuration.expirationExtension = .none
        return configuration
    }
}
