import FoundationEssentials
import Glibc
import WebImageCaching
import WebImageTestSupport

// CacheCrashWriter DIRECTORY SEED COUNT: changes a disk cache COUNT times (0: until it is killed) and prints a dot for
// every change that is on disk.

let arguments = CommandLine.arguments
guard arguments.count == 4, let seed = UInt64(arguments[2]), let count = Int(arguments[3]) else { exit(2) }
var random = SplitMix64(seed: seed)
var configuration = DiskCache.Configuration(directory: URL(filePath: arguments[1]))
configuration.sizeLimit = 2 << 20
configuration.freeSpaceFloor = 0
let cache = DiskCache(configuration: configuration)

var made = 0
while count == 0 || made < count {
    // Several at a time, so that batches of more than one are cut too.
    await withTaskGroup { group in
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            let key = "key \(Int.random(in: 0..<60, using: &random))"
            let isRemoval = Int.random(in: 0..<8, using: &random) == 0
            let byteCount = Int.random(in: 0..<(Bool.random(using: &random) ? 20_000 : 150_000), using: &random)
            let value = CheckedValue.make(key: key, seed: random.next(), byteCount: byteCount)
            made += 1
            group.addTask {
                await withCheckedContinuation { continuation in
                    let finish: @Sendable () -> Void = {
                        var dot = UInt8(ascii: ".")
                        write(STDOUT_FILENO, &dot, 1)
                        continuation.resume()
                    }
                    if isRemoval {
                        cache.remove(for: key, completion: finish)
                    } else {
                        cache.store(value, for: key, completion: finish)
                    }
                }
            }
        }
    }
}
await cache.flush()
