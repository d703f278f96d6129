import CIsolationHost
import Dispatch
import FoundationEssentials
import Glibc
import WebImageCoding
import WebImageCore
import WebImageIsolation

// A program that decodes images in other processes while it, or what is around it, is unusual. Only for tests.
//
//     IsolationHost SITUATION…
//
// Prints: decoded=N isolated=N layers=A,B

var configuration = IsolatedDecoding.Configuration()
if let path = getenv("WEBIMAGE_DECODER_PATH") { configuration.path = String(cString: path) }
let isolation = IsolatedDecoding(configuration: configuration)
let registry = CodecRegistry().isolated(by: .allFormats, in: isolation)

func makeFile() throws -> (file: Data, pixel: SIMD4<UInt8>) {
    var pixels = try MutablePixelBuffer(width: 800, height: 600)
    pixels.withUnsafeMutableBytes { bytes in
        for index in bytes.indices { bytes[index] = index % 4 == 3 ? 255 : UInt8(truncatingIfNeeded: index >> 3) }
    }
    let image = Image(pixels: pixels.freeze(isOpaque: true))
    return (try CodecRegistry().encode(image, as: .png), image.pixels[799, 599])
}

let (file, pixel) = try makeFile()
let decodedCount = Lock(0)

/// Decodes the file; an error or wrong pixels end the program.
@discardableResult func decode() -> Image {
    do throws(WebImageError) {
        let image = try registry.decode(file)
        guard image.pixels[799, 599] == pixel else {
            print("wrong pixels")
            exit(3)
        }
        decodedCount.withLock { $0 += 1 }
        return image
    } catch {
        print("error: \(error)")
        exit(2)
    }
}

func limit(_ resource: __rlimit_resource, _ value: UInt) {
    var limits = rlimit(rlim_cur: value, rlim_max: value)
    setrlimit(__rlimit_resource_t(resource.rawValue), &limits)
}

func finish() -> Never {
    let status = isolation.blockingStatus
    let decoded = decodedCount.withLock { $0 }
    let layers = status.layers.map(\.rawValue).sorted().joined(separator: ",")
    print("decoded=\(decoded) isolated=\(status.counters.imageCount) layers=\(layers)")
    exit(0)
}

for situation in CommandLine.arguments.dropFirst() {
    switch situation {
    case "plain": decode()
    case "ignore-children": signal(SIGCHLD, SIG_IGN)
    case "handle-children":
        signal(SIGCHLD) { _ in while waitpid(-1, nil, WNOHANG) > 0 {} }
    case "close-descriptors":
        let image = decode()
        for descriptor: Int32 in 3..<256 { close(descriptor) }
        // Files of the program get their numbers.
        var files: [Int32] = []
        for _ in 0..<8 {
            var name = Array("/tmp/isolation-host-XXXXXX".utf8CString)
            files.append(mkstemp(&name))
            unlink(name)
        }
        decode()
        guard files.allSatisfy({ fcntl($0, F_GETFD) >= 0 && lseek($0, 0, SEEK_END) == 0 }) else {
            print("a file of the program was written or closed")
            exit(4)
        }
        withExtendedLifetime(image) {}
    case "fork":
        decode()
        let child = fork()
        if child == 0 {
            decode()
            // Those of the parent do not count.
            guard isolation.blockingStatus.counters.imageCount == 1 else { _exit(8) }
            isolation.endIdleProcesses()
            _exit(7)
        }
        decode()
        var status: Int32 = 0
        waitpid(child, &status, 0)
        guard status == 7 << 8 else {
            print("the child ended with \(status)")
            exit(5)
        }
        decode()
    case "setuid":
        decode()
        guard setgid(65534) == 0, setuid(65534) == 0 else { exit(6) }
        decode()
    case "threads":
        let group = DispatchGroup()
        for _ in 0..<20 {
            group.enter()
            _ = PlatformThread.start(name: "host") {
                for _ in 0..<20 { decode() }
                group.leave()
            }
        }
        group.wait()
    case "no-processes":
        guard setgid(65534) == 0, setuid(65534) == 0 else { exit(6) }
        limit(__RLIMIT_NPROC, 1)
    case "no-file-size": limit(RLIMIT_FSIZE, 0)
    case "address-space": limit(RLIMIT_AS, 3 << 30)
    case "few-descriptors":
        let next = dup(0)
        close(next)
        limit(RLIMIT_NOFILE, UInt(next) + 24)
    case "filtered": if host_refuse_namespaces() != 0 { exit(6) }
    case "landlocked": if host_allow_only_reading() != 0 { exit(6) }
    default:
        print("unknown situation \(situation)")
        exit(64)
    }
}
decode()
finish()
