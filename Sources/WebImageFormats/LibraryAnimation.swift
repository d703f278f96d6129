internal import CWebImageFormats
internal import FoundationEssentials
internal import Glibc
internal import WebImageCoding
internal import WebImageCore

/// The frames of an AVIF sequence or a JPEG XL animation. The library composes them; each reader has a decoder of its
/// own.
final class LibraryAnimation: AnimationSource {
    let identity: AnimationIdentity
    let frames: [AnimationFrame]
    let frameSize: PixelSize
    let loopCount: Int
    let isThumbnail: Bool
    private let library: LibraryFormat
    private let data: Data
    private let options: DecodingOptions
    private let frameByteCount: Int

    /// `nil` for a still image.
    init?(_ library: LibraryFormat, _ data: Data, options: DecodingOptions) throws(WebImageError) {
        guard library.canEncode(animation: true) else { return nil }
        struct Facts {
            var frames: [AnimationFrame]
            var loopCount: Int
            var plan: DecodingPlan
            var frameByteCount: Int
        }
        let facts = try data.withBytes { (bytes) throws(WebImageError) -> Facts? in
            let file = try LibraryFile(library, bytes: bytes, limits: options.limits)
            guard file.info.is_animated else { return nil }
            try options.limits.check(frameCount: file.frameCount)
            let byteCount = file.frameCount.multipliedReportingOverflow(by: file.size.pixelByteCount)
            guard !byteCount.overflow, byteCount.partialValue <= options.limits.animationByteCount else {
                throw .limitExceeded(
                    reason: .animation(
                        byteCount: byteCount.overflow ? .max : byteCount.partialValue,
                        limit: options.limits.animationByteCount))
            }
            let frames = zip(0..., Self.durations(of: file)).map { index, duration in
                AnimationFrame(duration: duration, isKeyframe: file.isKeyframe(index))
            }
            let plan = try file.plan(options)
            let media = library.hasMediaBoxes ? MediaFile(data.bytes) : nil
            return Facts(
                frames: frames, loopCount: Self.loopCount(of: file, media), plan: plan,
                frameByteCount: plan.byteCount(from: file.size) + file.workingByteCount)
        }
        guard let facts else { return nil }
        try options.limits.check(memoryByteCount: facts.frameByteCount)
        self.library = library
        self.data = data
        var options = options
        identity = options.animationIdentity ?? AnimationIdentity()
        options.cancellation = nil
        self.options = options
        frames = facts.frames
        loopCount = facts.loopCount
        frameSize = facts.plan.orientation.upright(facts.plan.targetSize)
        isThumbnail = facts.plan.targetSize != facts.plan.storedSize
        frameByteCount = facts.frameByteCount
    }

    var isComplete: Bool { true }
    var byteCount: Int { data.count }

    /// libavif 0.11 does not read how often a sequence plays. A file that does not tell plays forever, as in browsers.
    static func loopCount(of file: LibraryFile, _ media: MediaFile?) -> Int {
        file.info.loop_count >= 0 ? Int(file.info.loop_count) : media?.loopCount ?? 0
    }

    static func durations(of file: LibraryFile) -> [Double] {
        (0..<file.frameCount).map { FrameDuration.played(file.duration(ofFrame: $0)) }
    }

    func makeFrameReader() -> any AnimationFrameReader {
        LibraryFrameReader(library, data, options: options, frameByteCount: frameByteCount)
    }
}

/// Decodes the frames of an animation in order; a frame further back starts at the keyframe before it.
private final class LibraryFrameReader: AnimationFrameReader {
    private let library: LibraryFormat
    private let data: Data
    private let options: DecodingOptions
    private let frameByteCount: Int
    /// Opened by the first frame.
    private var open: (file: LibraryFile, plan: DecodingPlan)?
    /// A copy, whose address stays the same between the calls.
    private var bytes: UnsafeMutableRawBufferPointer?

    init(_ library: LibraryFormat, _ data: Data, options: DecodingOptions, frameByteCount: Int) {
        self.library = library
        self.data = data
        self.options = options
        self.frameByteCount = frameByteCount
    }

    deinit {
        // Before its bytes.
        open = nil
        bytes?.deallocate()
    }

    func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        var options = options
        options.cancellation = cancellation
        return try options.withTimeLimit { (options) throws(WebImageError) in
            try options.withMemory(frameByteCount) { (_) throws(WebImageError) in
                var (file, plan) = try opened()
                plan.options = options
                do throws(WebImageError) {
                    let (pixels, _) = try file.pixels(
                        ofFrame: index, allowsDamage: options.allowsDamage, cancellation: options.cancellation)
                    return try plan.image(of: pixels, format: library.format).pixels
                } catch {
                    // After damage the library's state is unknown; other frames start anew.
                    open = nil
                    throw error
                }
            }
        }
    }

    private func opened() throws(WebImageError) -> (file: LibraryFile, plan: DecodingPlan) {
        if let open { return open }
        let memory: UnsafeMutableRawBufferPointer
        if let bytes {
            memory = bytes
        } else {
            memory = .allocate(byteCount: data.count, alignment: 16)
            data.withUnsafeBytes { memory.copyMemory(from: $0) }
            bytes = memory
        }
        let file = try LibraryFile(library, bytes: UnsafeRawBufferPointer(memory), limits: options.limits)
        let made = (file, try file.plan(options))
        open = made
        return made
    }
}
