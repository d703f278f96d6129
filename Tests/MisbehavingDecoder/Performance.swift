import CWebImageIsolation
import FoundationEssentials
import Glibc
import WebImageCoding
import WebImageCore
import WebImageIsolation

/// Performs the script of the last file.
final class Performance {
    private let channel: Channel
    private var script: Script?
    private var mapping: SharedMemory.Mapping?

    private static let size = PixelSize(width: 8, height: 8)
    /// `F_ADD_SEALS`, which Swift does not import.
    private static let addSeals: Int32 = 1033

    init(_ channel: Channel) { self.channel = channel }

    var hasScript: Bool { script != nil }

    /// Takes the script of a request with a file.
    func read(_ content: DecoderRequest, _ file: [UInt8]) {
        // Pixels have none, but their options may.
        var file = file[...]
        switch content {
        case .encode(_, let sent, _), .encodeAnimation(_, let sent, _, _, _, _):
            file = Array(sent.options.metadata?.xmp ?? Data())[...]
        default: break
        }
        guard file.count > 8 else { return }
        script = nil
        let text = file.dropFirst(8)
        guard text.starts(with: Script.word.utf8) else { return }
        let bytes = Array(text.dropFirst(Script.word.utf8.count))
        guard let script = try? MessageDecoder.value(of: bytes, from: .program) as Script else { exit(9) }
        self.script = script
    }

    func answer(_ request: NumberedRequest, input: SharedMemory?, output: SharedMemory?) {
        guard let script, Self.name(of: request.content) == script.request else { return reply(request, output) }
        for action in script.actions { perform(action, request, input, output) }
    }

    private static func name(of content: DecoderRequest) -> String {
        String("\(content)".prefix { $0 != "(" })
    }

    private func perform(
        _ action: Script.Action, _ request: NumberedRequest, _ input: SharedMemory?, _ output: SharedMemory?
    ) {
        switch action {
        case .reply: reply(request, output)
        case .replyOf(let bytes): send(bytes, number: request.number)
        case .replyOfNumber(let bytes, let offset): send(bytes, number: request.number + offset)
        case .replyWithDescriptors(let count, let isSealed):
            let bytes: [UInt8] = [0] + (message(Self.fine(request.content), request.number) ?? [])
            send(bytes, descriptors: count, of: isSealed ? input ?? output : nil)
        case .packet(let bytes, let count): send(Array(bytes), descriptors: count, of: input ?? output)
        case .again(let actions): while true { for action in actions { perform(action, request, input, output) } }
        case .receive: if (try? channel.receive()) == nil { exit(0) }
        case .seal(let isInput, let seals):
            if let memory = isInput ? input : output { _ = fcntl(memory.descriptor, Self.addSeals, Int32(seals)) }
        case .shrink: if let output { ftruncate(output.descriptor, 0) }
        case .rewrite:
            guard let mapping = output?.mapped(.shared) else { exit(1) }
            self.mapping = mapping
            for value in 0..<2000 { memset(mapping.address, Int32(value & 0xFF), 4096) }
        case .stop: raise(SIGSTOP)
        case .closeChannel:
            close(3)
            while true { _ = poll(nil, 0, 1000) }
        case .exit: _exit(5)
        case .crash: abort()
        case .work: while true {}
        case .sleep: while true { _ = poll(nil, 0, 1000) }
        }
    }

    /// Sends a packet with copies of the descriptor of `memory`, or of a file that can change its length.
    private func send(_ packet: [UInt8], descriptors count: Int, of memory: SharedMemory?) {
        let descriptors = [Int32](repeating: memory?.descriptor ?? STDIN_FILENO, count: count)
        let status = cwi_channel_send(3, packet, packet.count, descriptors, count)
        guard status == CWI_CHANNEL_OK else { exit(0) }
    }

    // MARK: Replies

    private func message(_ reply: DecoderReply, _ number: Int) -> [UInt8]? {
        try? MessageEncoder.bytes(of: NumberedReply(number: number, reply: reply))
    }

    private func send(_ bytes: Data, number: Int) {
        let number = withUnsafeBytes(of: Int64(number).littleEndian) { Array($0) }
        do {
            try channel.send(number + bytes)
        } catch {
            exit(0)
        }
    }

    private func reply(_ request: NumberedRequest, _ output: SharedMemory?) {
        if let mapping = output?.mapped(.shared) { memset(mapping.address, 17, Self.size.pixelByteCount) }
        guard let bytes = message(Self.fine(request.content), request.number) else { exit(1) }
        try? channel.send(bytes)
    }

    /// What a decoder would reply.
    static func fine(_ content: DecoderRequest) -> DecoderReply {
        let image = layout(size)
        let frame = AnimationFrame(duration: .milliseconds(100), isKeyframe: true)
        let animation = AnimationDescription(
            frameSize: size, frames: [frame, frame, frame], loopCount: 0, isComplete: true)
        switch content {
        case .info: return .info(ImageInfo(format: .png, size: size))
        case .probe: return .probe(ImageProbe(format: .png, size: size))
        case .metadata: return .parts([OutputPart(offset: 0, byteCount: 4), OutputPart(offset: 4, byteCount: nil)])
        case .profile: return .parts([OutputPart(offset: 0, byteCount: nil)])
        case .gainMap: return .parts([OutputPart](repeating: OutputPart(offset: 0, byteCount: nil), count: 3))
        case .decode, .frame, .finish: return .image(image)
        case .animation: return .animation(animation)
        case .append: return .arrived(ImageProbe(format: .png, size: size), animation)
        case .preview: return .preview(image)
        case .encode, .encodeAnimation: return .parts([OutputPart(offset: 0, byteCount: 4)])
        default: return .done
        }
    }
}
