import FoundationEssentials
import Glibc
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

/// A directory, a clock that moves only when told, and what the caches made on them reported.
final class DiskFixture: Sendable {
    let folder: TemporaryDirectory
    let clock = Lock<Int64>(1_000_000_000_000_000)
    private let failures = Lock<[WebImageError]>([])

    let firstFailure = Countdown()

    init() throws { folder = try TemporaryDirectory() }

    var directory: String { folder.path("cache") }
    var indexPath: String { "\(directory)/index.sqlite" }

    var reported: [WebImageError.DiskCacheFailure] {
        var reasons: [WebImageError.DiskCacheFailure] = []
        for error in failures.withLock({ $0 }) {
            if case .diskCache(_, let reason) = error { reasons.append(reason) }
        }
        return reasons
    }

    func cache(
        at path: String? = nil, sizeLimit: Int64? = 100 << 20, ageLimit: Double = 1_000, freeSpaceFloor: Int64 = 0,
        fileThreshold: Int = 20_480, stagedByteLimit: Int = 64 << 20, upkeepInterval: Double = 60,
        lockPatience: DiskWriter.LockPatience = DiskWriter.LockPatience(),
        configure: (inout DiskCache.Configuration) -> Void = { _ in }
    ) -> DiskCache {
        var configuration = DiskCache.Configuration(directory: URL(filePath: path ?? directory))
        configuration.sizeLimit = sizeLimit
        configuration.ageLimit = ageLimit
        configuration.freeSpaceFloor = freeSpaceFloor
        configuration.fileThreshold = fileThreshold
        configuration.onFailure = { error in
            self.failures.withLock { $0.append(error) }
            self.firstFailure.signal()
        }
        configure(&configuration)
        return DiskCache(
            configuration: configuration, now: { self.clock.withLock { $0 } }, stagedByteLimit: stagedByteLimit,
            lockPatience: lockPatience, indexLookInterval: 0, upkeepInterval: upkeepInterval)
    }

    /// A configuration with the directory alone.
    var configuration: DiskCache.Configuration { DiskCache.Configuration(directory: URL(filePath: directory)) }

    /// Lets the cache go, and waits until what it leaves behind is on disk.
    func end(_ cache: inout DiskCache?) async throws {
        let lane = cache?.lane
        weak let ending = cache
        cache = nil
        // Work that is just being done may hold it for a moment longer; what it leaves behind comes on the lane after that.
        var isGone = false
        repeat {
            isGone = ending == nil
            let turn = Countdown()
            lane?.submit { turn.signal() }
            try await turn.wait()
        } while !isGone
    }

    func advance(seconds: Double) { clock.withLock { $0 += Int64(seconds * 1_000_000) } }

    /// Paths of the files that hold one value.
    var valueFiles: [String] { files.filter { !$0.contains("/segment-") } }

    /// Paths of the files that hold many values.
    var segmentFiles: [String] { files.filter { $0.contains("/segment-") } }

    private var files: [String] {
        let folders = DiskDirectory.names(in: directory).filter { $0.hasPrefix(DiskDirectory.valuesPrefix) }
        return folders.flatMap { folder in
            DiskDirectory.names(in: "\(directory)/\(folder)").map { "\(directory)/\(folder)/\($0)" }
        }
    }
}

extension Data {
    init(_ byteCount: Int, of byte: UInt8) { self.init(repeating: byte, count: byteCount) }
}

extension DiskCache {
    /// Stores and waits until it is on disk.
    func storeNow(_ data: Data, for key: String, attributes: Attributes = Attributes()) async {
        await withCheckedContinuation { continuation in
            store(data, for: key, attributes: attributes) { continuation.resume() }
        }
    }
}
