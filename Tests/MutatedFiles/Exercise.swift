import Dispatch
import FoundationEssentials
import Glibc
import WebImageCoding
import WebImageCore
import WebImageIsolation
import WebImageTestSupport

/// What became of the files.
struct Outcomes {
    var images = 0
    var partialImages = 0
    var failures: [String: Int] = [:]

    var hasNoImage: Bool { images == 0 }

    var text: String {
        let kinds = failures.sorted { $0.value > $1.value }.map { "\($0.value) \($0.key)" }
        return "\(images) images, of which \(partialImages) partial; errors: \(kinds.joined(separator: ", "))"
    }
}

/// Decodes damaged files on several threads at once.
final class Exercise: Sendable {
    let outcomes = LockBox(Outcomes())
    private let registry: CodecRegistry
    private let files: [SeedFile]
    private let formats: [ImageFormat]
    private let keptDirectory: String?

    init(registry: CodecRegistry, files: [SeedFile], keptDirectory: String?) {
        self.registry = registry
        self.files = files
        formats = Set(files.map(\.format)).sorted { $0.name < $1.name }
        self.keptDirectory = keptDirectory
    }

    /// Each number is a file, which is the same in each run with the same seed.
    func run(_ numbers: Range<Int>, seed: UInt64) {
        let next = LockBox(numbers.lowerBound)
        DispatchQueue.concurrentPerform(iterations: PlatformThread.processorCount) { _ in
            while case let number = next.withLock({ next -> Int in
                defer { next += 1 }
                return next
            }), number < numbers.upperBound {
                var random = SplitMix64(seed: seed &+ UInt64(number) &* 0x1_0000_0001)
                exercise(number, &random)
            }
        }
    }

    private func exercise(_ number: Int, _ random: inout SplitMix64) {
        // All formats equally often.
        let format = formats[number % formats.count]
        let others = files.filter { $0.format == format }
        let data = others[random.index(below: others.count)].mutated(&random, others: others)
        var options = DecodingOptions(allowsDamage: random.index(below: 2) == 0, limits: .server)
        options.limits.pixelCount = 1_000_000
        options.limits.memoryByteCount = 64 << 20
        options.limits.processorTime = .seconds(1)
        if random.index(below: 4) == 0 { options.thumbnail = Thumbnail(.pixels(width: 16, height: 16)) }
        do throws(WebImageError) {
            switch random.index(below: 8) {
            case 0:
                _ = try registry.info(of: data)
                _ = try registry.metadata(of: data)
                if let map = try registry.gainMap(of: data, limits: options.limits) {
                    note(Image(pixels: map.pixels), options)
                }
            case 1: try decodeInParts(data, options)
            case 2:
                guard let source = try registry.animation(of: data, options: options) else { fallthrough }
                let reader = source.makeFrameReader()
                for index in 0..<min(source.frames.count, 4) {
                    note(Image(pixels: try reader.frame(at: index, cancellation: nil)), options)
                }
            default: note(try registry.decode(data, options: options), options)
            }
        } catch {
            note(error, data, number, format)
        }
    }

    private func decodeInParts(_ data: Data, _ options: DecodingOptions) throws(WebImageError) {
        let half = data.count / 2
        guard let decoder = try registry.makeIncrementalDecoder(startingWith: data.prefix(half), options: options)
        else {
            return note(try registry.decode(data, options: options), options)
        }
        if let image = try decoder.preview() { note(image, options) }
        try decoder.append(data.dropFirst(half))
        note(try decoder.finish(), options)
    }

    private func note(_ image: Image, _ options: DecodingOptions) {
        // Every pixel can be read, and there are no more than asked for.
        var sum = 0
        for y in 0..<image.pixels.height {
            for byte in UnsafeRawBufferPointer(start: image.pixels.row(y), count: image.pixels.width * 4) {
                sum &+= Int(byte)
            }
        }
        guard image.pixels.size.pixelCount <= options.limits.pixelCount, sum >= 0 else {
            print("PROBLEM: an image of \(image.pixels.size)")
            exit(1)
        }
        outcomes.withLock { outcomes in
            outcomes.images += 1
            if image.isPartial { outcomes.partialImages += 1 }
        }
    }

    private func note(_ error: WebImageError, _ data: Data, _ number: Int, _ format: ImageFormat) {
        let kind: String
        switch error {
        case .isolation(let format, .unavailable(let reason), _):
            // Nothing may be decoded here.
            print("PROBLEM: no process for \(format.name): \(reason)")
            exit(1)
        case .isolation(let format, .crashed(let signal), _): kind = "crashed by signal \(signal) (\(format.name))"
        case .isolation(let format, let reason, _): kind = "\(reason) (\(format.name))"
        case .decoding: kind = "damaged or unsupported"
        case .unrecognizedFormat: kind = "unrecognized"
        case .limitExceeded(.processorTime, _): kind = "over the time limit (\(format.name))"
        case .limitExceeded: kind = "over a limit"
        case .outOfResources(let reason, _): kind = "out of resources: \(reason) (\(format.name))"
        default: kind = "\(error)"
        }
        outcomes.withLock { $0.failures[kind, default: 0] += 1 }
        guard let keptDirectory, !["damaged or unsupported", "unrecognized", "over a limit"].contains(kind) else {
            return
        }
        try? data.write(to: URL(filePath: keptDirectory).appending(path: "\(number).\(format.name)"))
        try? Data("\(kind)\n".utf8).write(to: URL(filePath: keptDirectory).appending(path: "\(number).txt"))
    }
}
