internal import WebImageCore

/// The readers of one animation, each with a canvas: so that players at several places go on from where they are.
struct FrameReaders {
    /// A reader, and the frame that costs it no more than itself.
    struct Reader {
        let reader: any AnimationFrameReader
        var next = 0
        /// How many frames its source has.
        var frameCount: Int
    }

    /// More canvases than this would take more memory than they save work.
    static let countLimit = 4

    /// The one used last is the last.
    private(set) var readers: [Reader] = []
    private var source: any AnimationSource
    /// For each frame, the last one from which composing can begin.
    private var keyframes: [Int32] = []

    init(_ source: any AnimationSource) {
        self.source = source
        addKeyframes()
    }

    /// The memory of their canvases, in bytes.
    var byteCount: Int { readers.count * source.frameByteCount }

    /// Where composing begins for a frame: behind what a reader has on its canvas already, or at a keyframe.
    func start(for frame: Int) -> Int { max(Int(keyframes[frame]), reader(for: frame)?.next ?? 0) }

    /// Takes out the reader that has least to do for a frame, or makes one.
    mutating func take(for frame: Int) -> Reader {
        if let reader = reader(for: frame), let index = readers.firstIndex(where: { $0.reader === reader.reader }) {
            return readers.remove(at: index)
        }
        if readers.count >= Self.countLimit { return readers.removeFirst() }
        return Reader(reader: source.makeFrameReader(), frameCount: source.frameCount)
    }

    /// Puts a reader back that goes on with the frame `next` now.
    mutating func put(_ reader: Reader, next: Int) {
        var reader = reader
        reader.next = next
        if let reader = renewed(reader) { readers.append(reader) }
    }

    /// Goes over to a longer version of the source.
    mutating func extend(to source: any AnimationSource) {
        self.source = source
        addKeyframes()
        readers = readers.compactMap { renewed($0) }
    }

    /// Gives up all canvases but the one used last.
    mutating func keepLast() { readers.removeFirst(max(0, readers.count - 1)) }

    /// Gives the canvases up.
    mutating func removeAll() { readers = [] }

    private func reader(for frame: Int) -> Reader? {
        let candidates = readers.filter { Int(keyframes[frame]) <= $0.next && $0.next <= frame }
        return candidates.max { $0.next < $1.next }
    }

    /// One that can't go on with the longer version would never see its end.
    private func renewed(_ reader: Reader) -> Reader? {
        guard reader.frameCount != source.frameCount else { return reader }
        guard reader.reader.goOn(with: source) else { return nil }
        return Reader(reader: reader.reader, next: reader.next, frameCount: source.frameCount)
    }

    private mutating func addKeyframes() {
        let frames = source.frames
        for index in keyframes.count..<frames.count {
            keyframes.append(index == 0 || frames[index].isKeyframe ? Int32(clamping: index) : keyframes[index - 1])
        }
    }
}
