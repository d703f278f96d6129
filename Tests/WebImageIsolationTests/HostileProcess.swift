import FoundationEssentials
import Glibc
import MisbehavingDecoder
import Testing
import WebImageCoding
import WebImageCore

@testable import WebImageIsolation

/// A decoder process that does what a script says instead of one request, and all that a program can request of it.
struct HostileProcess {
    let isolation: IsolatedDecoding
    private let decoder: IsolatedDecoder
    private let encoder: IsolatedAnimationEncoder

    /// - Parameter time: what a request may take.
    init(time: Duration = .milliseconds(300)) {
        isolation = IsolatedDecoding(
            configuration: .init(decoder: "MisbehavingDecoder") { configuration in
                configuration.processCount = 2
                configuration.timePerImage = time
                configuration.keepsProcessReady = true
            })
        decoder = IsolatedDecoder(.png, isolation: isolation, policy: .allFormats)
        encoder = IsolatedAnimationEncoder(IsolatedEncoder(.png, isolation: isolation, policy: .allFormats))
    }

    /// The names of all requests with a reply.
    static let requests = [
        "info", "probe", "metadata", "profile", "gainMap", "decode", "animation", "openFrames", "frame",
        "openIncremental", "append", "preview", "finish", "encode", "encodeAnimation",
    ]

    static func file(_ script: Script) throws -> Data {
        MisbehaviorTests.file(Script.word) + Data(try MessageEncoder.bytes(of: script))
    }

    /// Sends the request of the script, and those that have to precede it, and uses what is returned.
    func perform(
        _ script: Script, options: DecodingOptions = DecodingOptions(), cancellation: Cancellation? = nil
    ) throws -> String {
        let file = try Self.file(script)
        var options = options
        options.cancellation = cancellation
        switch script.request {
        case "info": return "\(try decoder.info(of: file))"
        case "probe": return "\(try decoder.probe(file) as Any)"
        case "metadata": return "\(try decoder.metadata(of: file))"
        case "profile": return "\(try decoder.colorProfile(of: file) as Any)"
        case "gainMap": return "\(try decoder.gainMap(of: file) as Any)"
        case "decode":
            let image = try decoder.decode(file, options: options)
            return "\(image.pixels.size) \(image.frameCount) \(describe(image.animation))"
        case "animation": return describe(try decoder.animation(of: file, options: options))
        case "openFrames", "frame":
            let animation = try decoder.animation(of: file, options: options)
            let reader = try #require(animation).makeFrameReader()
            _ = try reader.frame(at: 0, cancellation: cancellation)
            return "\(try reader.frame(at: 1, cancellation: cancellation).size)"
        case "openIncremental", "append", "preview", "finish":
            // The first request of such a file brings no byte of it.
            if script.request == "openIncremental" { _ = try decoder.info(of: file) }
            let arriving = try #require(decoder.makeIncrementalDecoder(options: options))
            try arriving.append(file)
            _ = try arriving.preview()
            let image = try arriving.finish()
            return "\(image.pixels.size) \(describe(arriving.animation))"
        case "encode", "encodeAnimation":
            var options = EncodingOptions(cancellation: cancellation)
            options.metadata = ImageMetadata(exif: nil, xmp: file)
            let image = try IsolatedDecodingTests.image(PixelSize(width: 8, height: 8))
            guard script.request == "encodeAnimation" else { return "\(try encoder.encode(image, options: options))" }
            var animation = EncodableAnimation(loopCount: 0)
            for _ in 0..<3 { animation.append(image, duration: .milliseconds(100)) }
            return "\(try encoder.encode(animation, options: options))"
        default: throw InvalidMessage("no request \(script.request)")
        }
    }

    /// Everything that a program computes of an animation.
    private func describe(_ animation: (any AnimationSource)?) -> String {
        guard let animation else { return "none" }
        return "\(animation.frameSize) \(animation.frames.count) \(animation.duration) \(animation.loopCount)"
    }

    /// The same, with its error.
    func outcome(_ script: Script, cancellation: Cancellation? = nil) -> Result<String, any Error> {
        Result { try perform(script, cancellation: cancellation) }
    }

    /// Whether the next image is decoded. On a busy machine the start of its process alone may take longer than an image may.
    func isFine() -> Bool {
        for _ in 0..<20 {
            do throws(WebImageError) {
                let image = try decoder.decode(MisbehaviorTests.file("fine"), options: DecodingOptions())
                return image.pixels[7, 7] == SIMD4(repeating: 17)
            } catch {
                guard case .isolation(_, .timedOut, _) = error else { return false }
            }
        }
        return false
    }

    /// Ends all processes, and waits until the numbers of descriptors and mappings are what they were.
    func end(_ before: Footprint) async {
        // Nothing is kept ready any more.
        isolation.pool.changeState { $0.failure = (UnavailableDecoder("the test ends"), .seconds(1 << 40)) }
        while !Task.isCancelled, isolation.startingCount > 0 { await Task.yield() }
        isolation.endIdleProcesses()
        while !Task.isCancelled, Footprint().descriptorCount > before.descriptorCount { await Task.yield() }
        let after = Footprint()
        #expect(after.descriptorCount <= before.descriptorCount)
        // The allocator and threads have a few more.
        #expect(after.mappingCount <= before.mappingCount + 24)
        #expect(waitpid(-1, nil, WNOHANG) <= 0)
    }
}

/// What a program has of the system.
struct Footprint {
    let descriptorCount: Int
    let mappingCount: Int

    init() {
        descriptorCount = (0..<1024).count { fcntl($0, F_GETFD) >= 0 }
        let maps = (try? Data(contentsOf: URL(filePath: "/proc/self/maps"))) ?? Data()
        mappingCount = maps.count { $0 == 10 }
    }
}
