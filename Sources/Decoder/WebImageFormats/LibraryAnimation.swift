internal import CWebImageFormats
internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

/// The frames of an AVIF sequence or a JPEG XL animation. The library composes them; each reader has a decoder of its
/// own.
final class LibraryAnimation: LimitedAnimation {
    let identity = AnimationIdentity()
    let frames: [AnimationFrame]
    let frameSize: PixelSize
    let loopCount: Int
    let isThumbnail: Bool
    private let library: LibraryFormat
    private let data: Data
    private let options: DecodingOptions
    private let frameByteCount: Int

    /// `nil` for a still image.
    init?(_ file: LibraryFile, _ data: Data, options: DecodingOptions) throws(WebImageError) {
        guard file.info.is_animated, file.frameCount > 1 else { return nil }
        try options.limits.check(frameCount: file.frameCount)
        try options.limits.check(frameSizes: repeatElement(file.size, count: file.frameCount))
        let plan = try file.plan(options)
        frameByteCount = plan.byteCount(from: file.size) + file.workingByteCount()
        try options.limits.check(memoryByteCount: frameByteCount)
        library = file.format
        self.data = data
        var options = options
        options.cancellation = nil
        self.options = options
        frames = Self.frames(of: file)
        loopCount = Self.loopCount(of: file, library.hasMediaBoxes ? MediaFile(data.bytes, isPrefix: false) : nil)
        frameSize = plan.orientation.upright(plan.targetSize)
        isThumbnail = plan.targetSize != plan.storedSize
    }

    var isComplete: Bool { true }
    var byteCount: Int { data.count }
    var limits: DecodingLimits? { options.limits }

    /// libavif 0.11 does not read how often a sequence plays. A file that does not tell plays forever, as in browsers.
    static func loopCount(of file: LibraryFile, _ media: MediaFile?) -> Int {
        file.info.loop_count >= 0 ? Int(file.info.loop_count) : media?.loopCount ?? 0
    }

    static func frames(of file: LibraryFile) -> [AnimationFrame] {
        (0..<file.frameCount).map { index in
            AnimationFrame(
                duration: FrameDuration.played(seconds: file.seconds(ofFrame: index)),
                isKeyframe: file.isKeyframe(index))
        }
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
            try options.withMemory(frameByteCount) { () throws(WebImageError) in
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
        let file = try LibraryFile(
            library, bytes: UnsafeRawBufferPointer(memory), limits: options.limits, keepsColors: options.keepsColors)
        let made = (file, try file.plan(options))
        open = made
        return made
    }
}
