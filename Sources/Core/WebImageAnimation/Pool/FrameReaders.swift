internal import WebImageCore

/// The readers of one animation, each with a canvas, so that players at several positions continue from there.
struct FrameReaders {
    /// A reader, and the next frame on its canvas.
    struct Reader {
        let reader: any AnimationFrameReader
        var next = 0
        /// The number of frames of its source.
        var frameCount: Int
    }

    /// More canvases would take more memory than they save work.
    static let countLimit = 4

    /// The most recently used is last.
    private(set) var readers: [Reader] = []
    private var source: any AnimationSource
    /// The keyframe from which composing each frame can begin.
    private var keyframes: [Int32] = []

    init(_ source: any AnimationSource) {
        self.source = source
        addKeyframes()
    }

    /// The memory of the canvases, in bytes.
    var byteCount: Int { readers.count * source.frameByteCount }

    /// Returns where composing a frame begins: after the last frame on a canvas, or at a keyframe.
    func start(for frame: Int) -> Int { max(Int(keyframes[frame]), reader(for: frame)?.next ?? 0) }

    /// Removes the reader that has least to do for a frame, or makes one.
    mutating func take(for frame: Int) -> Reader {
        if let reader = reader(for: frame), let index = readers.firstIndex(where: { $0.reader === reader.reader }) {
            return readers.remove(at: index)
        }
        if readers.count >= Self.countLimit { return readers.removeFirst() }
        return Reader(reader: source.makeFrameReader(), frameCount: source.frameCount)
    }

    /// Returns a reader whose next frame is `next`.
    mutating func put(_ reader: Reader, next: Int) {
        var reader = reader
        reader.next = next
        if let reader = renewed(reader) { readers.append(reader) }
    }

    /// Continues with a longer version of the source.
    mutating func extend(to source: any AnimationSource) {
        self.source = source
        addKeyframes()
        readers = readers.compactMap { renewed($0) }
    }

    /// Releases all canvases but the most recently used.
    mutating func keepLast() { readers.removeFirst(max(0, readers.count - 1)) }

    /// Releases the canvases.
    mutating func removeAll() { readers = [] }

    private func reader(for frame: Int) -> Reader? {
        let candidates = readers.filter { Int(keyframes[frame]) <= $0.next && $0.next <= frame }
        return candidates.max { $0.next < $1.next }
    }

    /// A reader that cannot continue with the longer version would never see its end.
    private func renewed(_ reader: Reader) -> Reader? {
        guard reader.frameCount != source.frameCount else { return reader }
        guard (reader.reader as? any ExtensibleFrameReader)?.update(to: source) == true else { return nil }
        return Reader(reader: reader.reader, next: reader.next, frameCount: source.frameCount)
    }

    private mutating func addKeyframes() {
        let frames = source.frames
        for index in keyframes.count..<frames.count {
            keyframes.append(index == 0 || frames[index].isKeyframe ? Int32(clamping: index) : keyframes[index - 1])
        }
    }
}
