import FoundationEssentials
import Glibc
import WebImageCaching
import WebImageTestSupport

// CacheCrashWriter change DIRECTORY OWNER SEED COUNT: changes a disk cache COUNT times (0: until it is killed) and
//   prints a ``ChangeRecord`` before and after each. Versions begin at SEED * 2^32.
// CacheCrashWriter read DIRECTORY OWNER: looks the keys up until its standard input ends; status 3 for a wrong value, 6
// where
//   it never found one.
// CacheCrashWriter look DIRECTORY: looks the keys up as a user with no rights, and stores one; status as above.
// CacheCrashWriter completion DIRECTORY: stores values in a completion, and ends in it.
// CacheCrashWriter clear DIRECTORY: removes everything.
// CacheCrashWriter pixels DIRECTORY END: stores thumbnails as pixels, and ends at once. END is "return" (from main),
// "exit" or
//   "kill".

let arguments = CommandLine.arguments
guard arguments.count >= 3 else { exit(2) }
var configuration = DiskCache.Configuration(directory: URL(filePath: arguments[2]))
configuration.sizeLimit = 64 << 20
configuration.freeSpaceFloor = 0
// Tests have clocks of their own.
configuration.ageLimit = nil
configuration.onFailure = { error in
    var line = "\(error)\n"
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    if arguments[1] != "look" { exit(4) }
}
let cache = DiskCache(configuration: configuration)
/// Not released when the program ends.
var images: ImageCache?

switch (arguments[1], arguments.count) {
case ("change", 6):
    guard let seed = UInt64(arguments[4]), let count = Int(arguments[5]) else { exit(2) }
    var writer = Writer(cache: cache, owner: arguments[3], seed: seed)
    while count == 0 || writer.madeCount < count { try await writer.changeSome() }
    await cache.flush()
case ("read", 4):
    var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
    var foundCount = 0
    while poll(&input, 1, 0) == 0 {
        for number in 0..<WriterKeys.count {
            let key = WriterKeys.name(number, owner: arguments[3])
            guard let data = await cache.data(for: key) else { continue }
            guard CheckedValue.version(of: data, key: key) != nil else { exit(3) }
            foundCount += 1
        }
    }
    exit(foundCount > 0 ? 0 : 6)
case ("look", 3):
    guard setgid(65_534) == 0, setuid(65_534) == 0 else { exit(2) }
    var foundCount = 0
    for number in 0..<WriterKeys.count {
        let key = WriterKeys.name(number, owner: "")
        guard let data = await cache.data(for: key) else { continue }
        guard CheckedValue.version(of: data, key: key) != nil else { exit(3) }
        foundCount += 1
    }
    cache.store(CheckedValue.make(key: "new", version: 1, byteCount: 100), for: "new")
    await cache.flush()
    guard await !cache.contains("new") else { exit(3) }
    exit(foundCount > 0 ? 0 : 6)
case ("pixels", 4):
    images = WriterPixels.cache(on: cache)
    if let images { try WriterPixels.storeAll(in: images) }
    if arguments[3] == "exit" { exit(0) }
    if arguments[3] == "kill" { kill(getpid(), SIGKILL) }
case ("completion", 3):
    cache.store(CheckedValue.make(key: "first", version: 1, byteCount: 100), for: "first") {
        for key in ["second", "third"] {
            cache.store(CheckedValue.make(key: key, version: 1, byteCount: 100), for: key)
        }
        exit(0)
    }
    while true { pause() }
case ("clear", 3):
    await cache.removeAll()
default: exit(2)
}
