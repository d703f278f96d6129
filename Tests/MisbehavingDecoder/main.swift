import CWebImageSandbox
import FoundationEssentials
import Glibc
import WebImageCoding
import WebImageCore
import WebImageIsolation

// A decoder process that does what a file tells it to, as one that was taken over would. Only for tests.
//
// A file is the signature of PNG, then a word, such as `segfault`.

let isSandboxed = !CommandLine.arguments.contains("--open")
let report: SandboxReport
if isSandboxed {
    let entered = cwi_sandbox_enter(
        cwi_sandbox_limits(memory_length: 2 << 30, processor_seconds: 600, thread_count: 64))
    report = SandboxReport(layers: entered.active == 0 ? [] : Set(SandboxLayer.allCases), errors: [:])
} else {
    report = SandboxReport(layers: [], errors: [:])
}
let channel = Channel.inDecoder

func send(_ reply: DecoderReply, number: Int?) {
    var message = MessageWriter()
    if let number { message.write(number) }
    message.write(reply)
    try? channel.send(message.bytes)
}

func layout(_ size: PixelSize, offset: Int = 0, bytesPerRow: Int? = nil) -> DecodedImage {
    DecodedImage(
        pixels: PixelLayout(
            offset: offset, size: size, bytesPerRow: bytesPerRow ?? size.width * 4, isOpaque: true),
        scale: 1, frameCount: 1, isPartial: false, isThumbnail: false, animation: nil)
}

/// Says whether a call was refused, as the error of an image.
func answer(_ name: String, _ result: Int, number: Int) {
    let text = result < 0 ? "refused" : "allowed"
    send(.failure(.decoding(format: .png, reason: .corrupt("\(name) \(text)"))), number: number)
}

@inline(never) func recurse(_ depth: Int) -> Int { depth < 0 ? 0 : recurse(depth + 1) &+ depth }

nonisolated(unsafe) var kept: [SharedMemory.Mapping] = []  // Only this thread uses it.

func misbehave(_ word: Substring, header: RequestHeader, output: SharedMemory) {
    let number = header.number
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
    case "stride":
        // The writer does not check what it writes.
        var message = MessageWriter()
        message.write(number)
        message.write(.image(layout(small, bytesPerRow: 4)) as DecoderReply)
        try? channel.send(message.bytes)
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
    case "shrink":
        guard ftruncate(output.descriptor, 0) != 0 else { exit(1) }
        if let mapping = output.mapped(.shared) { memset(mapping.address, 17, large.pixelByteCount) }
        send(.image(layout(large)), number: number)
    case "flag":
        // Half of a message, and then nothing.
        withUnsafeBytes(of: UInt16(1).littleEndian) { _ = Glibc.write(3, $0.baseAddress, 2) }
        while true { _ = poll(nil, 0, 1000) }
    case "spool": send(.needsSpool(byteCount: 1 << 39), number: number)
    case "spools": while true { send(.needsSpool(byteCount: 1 << 26), number: number) }
    case "threads":
        send(.failure(.decoding(format: .png, reason: .corrupt("\(header.threadCount) threads"))), number: number)
    case "fine":
        if let mapping = output.mapped(.shared) { memset(mapping.address, 17, small.pixelByteCount) }
        send(.image(layout(small)), number: number)
    default: send(.failure(.decoding(format: .png, reason: .corrupt("an unknown word"))), number: number)
    }
}

var (input, output): (SharedMemory?, SharedMemory?)
send(.ready(version: LibraryVersion.text, report), number: nil)
while let message = try? channel.receive(milliseconds: -1) {
    var reader = MessageReader(message.bytes)
    guard let header: RequestHeader = try? reader.value(), let request = try? DecoderRequest(from: &reader) else {
        exit(1)
    }
    switch request {
    case .keepInput: input = message.memory.first
    case .keepOutput: output = message.memory.first
    case .decode:
        guard let file = input?.mapped(.reading), let output else { continue }
        let word = String(decoding: file.bytes[8..<header.inputByteCount], as: UTF8.self)
        misbehave(word[...], header: header, output: output)
    default: continue
    }
}
exit(0)
