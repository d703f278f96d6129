import CWebImageIsolation
import CWebImageSandbox
import FoundationEssentials
import Glibc
import WebImageCoding
import WebImageCore
import WebImageIsolation

// A decoder process that does what a file tells it to, as one that was taken over would. Only for tests.
//
// A file is the signature of PNG, then a word, such as `segfault`, or a `Script`.

let isNamedOpen = ProgramPath.isOf("OpenDecoder")
// A link of that name says that it is of another release.
let isOfOtherRelease = ProgramPath.isOf("OtherDecoder")
let entered = cwi_sandbox_enter(
    cwi_sandbox_limits(memory_length: 2 << 30, processor_seconds: 600, thread_count: 64))
// A link of that name to this program says that it has no sandbox.
let isOpen = entered.active == 0 || isNamedOpen
let report = SandboxReport(layers: isOpen ? [] : Set(SandboxLayer.allCases), errors: [:])
let channel = Channel.inDecoder

func send(_ reply: DecoderReply, number: Int) {
    guard let bytes = try? MessageEncoder.bytes(of: NumberedReply(number: number, reply: reply)) else { exit(1) }
    try? channel.send(bytes)
}

func place(_ size: PixelSize, offset: Int = 0, bytesPerRow: Int? = nil) -> PixelLayout {
    PixelLayout(offset: offset, size: size, bytesPerRow: bytesPerRow ?? size.width * 4, isOpaque: true)
}

func layout(_ size: PixelSize, offset: Int = 0, bytesPerRow: Int? = nil) -> DecodedImage {
    DecodedImage(
        pixels: place(size, offset: offset, bytesPerRow: bytesPerRow), frameCount: 1, isPartial: false,
        isThumbnail: false, animation: nil)
}

/// Says whether a call was refused, as the error of an image.
func answer(_ name: String, _ result: Int, number: Int) {
    let text = result < 0 ? "refused" : "allowed"
    send(.failure(.decoding(.png, .corrupt("\(name) \(text)"))), number: number)
}

@inline(never) func recurse(_ depth: Int) -> Int { depth < 0 ? 0 : recurse(depth + 1) &+ depth }

enum ProgramPath {
    static func isOf(_ name: String) -> Bool {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        guard readlink("/proc/self/exe", &buffer, buffer.count - 1) > 0 else { return false }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).hasSuffix(name)
    }
}

nonisolated(unsafe) var closeCount = 0  // Only this thread uses it.
nonisolated(unsafe) var kept: [SharedMemory.Mapping] = []  // Only this thread uses it.

func misbehave(_ word: Substring, request: NumberedRequest, output: SharedMemory) {
    let number = request.number
    let (small, large) = (PixelSize(width: 8, height: 8), PixelSize(width: 1024, height: 1024))
    switch word {
    case "segfault": UnsafeMutablePointer<Int>(bitPattern: 8)?.pointee = 1
    case "abort": abort()
    case "trap": fatalError("deliberate")
    case "overflow": print(recurse(0))
    case "loop": while true {}
    case "sleep": while true { _ = poll(nil, 0, 1000) }
    case "memory":
        var blocks: [UnsafeMutableRawPointer] = []
        while let block = malloc(16 << 20) {
            memset(block, 1, 16 << 20)
            blocks.append(block)
        }
        abort()
    case "fork": answer("fork", Int(fork()), number: number)
    case "socket": answer("socket", Int(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)), number: number)
    case "open": answer("open", Int(open("/etc/passwd", O_RDONLY)), number: number)
    case "write": answer("write", Int(open("/tmp/webimage-escaped", O_WRONLY | O_CREAT, 0o600)), number: number)
    case "exec":
        answer("exec", Int(execve("/bin/true", [nil], [nil])), number: number)
    case "kill": answer("kill", Int(kill(getppid(), 0)), number: number)
    case "executable":
        let memory = mmap(nil, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        answer("executable memory", memory == MAP_FAILED ? -1 : 0, number: number)
    case "exit": exit(7)
    case "garbage": try? channel.send((0..<500).map { UInt8(truncatingIfNeeded: $0 &* 37) })
    case "empty": try? channel.send([])
    case "number": send(.image(layout(small)), number: number + 1000)
    case "other": send(.done, number: number)
    case "huge": send(.image(layout(PixelSize(width: 65_535, height: 65_535))), number: number)
    case "outside": send(.image(layout(small, offset: 1 << 39)), number: number)
    case "stride": send(.image(layout(small, bytesPerRow: 4)), number: number)
    case "flood":
        for _ in 0..<2000 { send(.image(layout(small)), number: number) }
    case "twice":
        send(.image(layout(small)), number: number)
        send(.image(layout(small)), number: number)
    case "rewrite":
        // Keeps its access to the pixels, and changes them after it has returned them.
        guard let mapping = output.mapped(.shared) else { exit(1) }
        kept.append(mapping)
        memset(mapping.address, 17, large.pixelByteCount)
        send(.image(layout(large)), number: number)
        for value in 0..<200 { memset(mapping.address, Int32(value), large.pixelByteCount) }
    case "rowsOutside": send(.rows(place(small, offset: 1 << 39), count: 4), number: number)
    case "rowsOfHuge": send(.rows(place(PixelSize(width: 65_535, height: 65_535)), count: 4), number: number)
    case "rowsBack": for count in [4, 2] { send(.rows(place(small), count: count), number: number) }
    case "rowsElsewhere":
        for offset in [0, 4096] { send(.rows(place(small, offset: offset), count: 4 + offset / 4096), number: number) }
    case "rowsWithdrawn":
        guard let mapping = output.mapped(.shared) else { exit(1) }
        memset(mapping.address, 17, small.pixelByteCount)
        send(.rows(place(small), count: 4), number: number)
        memset(mapping.address, 99, small.pixelByteCount)
        send(.image(layout(small)), number: number)
    case "shrink":
        guard ftruncate(output.descriptor, 0) != 0 else { exit(1) }
        if let mapping = output.mapped(.shared) { memset(mapping.address, 17, large.pixelByteCount) }
        send(.image(layout(large)), number: number)
    case "flag":
        // Half of a message, and then nothing.
        _ = Glibc.write(3, [1] + [UInt8](repeating: 0, count: Int(CWI_MAXIMUM_MESSAGE) - 1), Int(CWI_MAXIMUM_MESSAGE))
        while true { _ = poll(nil, 0, 1000) }
    case "spool": send(.needsSpool(byteCount: 1 << 39), number: number)
    case "spools": while true { send(.needsSpool(byteCount: 1 << 26), number: number) }
    case "late":
        _ = poll(nil, 0, 200)
        misbehave("fine", request: request, output: output)
    case "closes": send(.failure(.decoding(.png, .corrupt("\(closeCount) closed"))), number: number)
    case "threads":
        send(.failure(.decoding(.png, .corrupt("\(request.threadCount) threads"))), number: number)
    case "fine":
        if let mapping = output.mapped(.shared) { memset(mapping.address, 17, small.pixelByteCount) }
        send(.image(layout(small)), number: number)
    default: send(.failure(.decoding(.png, .corrupt("an unknown word"))), number: number)
    }
}

var (input, output): (SharedMemory?, SharedMemory?)
let performance = Performance(channel)
send(.ready(version: isOfOtherRelease ? "0.0.1" : LibraryVersion.text, report), number: 0)
while let message = try? channel.receive() {
    guard let request = try? MessageDecoder.value(of: message.bytes, from: .program) as NumberedRequest else { exit(1) }
    switch request.content {
    case .keepInput: input = message.memory.first
    case .keepOutput: output = message.memory.first
    case .close: closeCount += 1
    case .rest, .cancel: continue
    default:
        let file = (request.inputByteCount > 0 ? input : message.memory.first)?.mapped(.reading)
        let byteCount = request.inputByteCount > 0 ? request.inputByteCount : file?.byteCount ?? 0
        performance.read(request.content, file.map { Array($0.bytes[..<byteCount]) } ?? [])
        if case .decode = request.content, !performance.hasScript, let file, let output {
            let word = String(decoding: file.bytes[8..<byteCount], as: UTF8.self)
            misbehave(word[...], request: request, output: output)
        } else {
            performance.answer(request, input: input, output: output)
        }
    }
}
exit(0)
