/// The frames of a moving picture, decoded when they are asked for.
///
/// A source is immutable and shared: what one needs to play it, the canvas on which frames are composed, is in the
/// ``AnimationFrameReader`` that each player (or pool of players) makes for itself. Those ask it under their locks: it answers at
/// once, and does not call them back.
public protocol AnimationSource: Sendable {
    /// Which animation this is: two sources that have the same one share decoded frames.
    ///
    /// A source keeps one that it was made with. Of a file that is arriving, each version has the first one's: the frames
    /// they have in common are the same.
    var identity: AnimationIdentity { get }
    /// The size of every frame, upright, in pixels: the file's canvas, or the thumbnail's size.
    var frameSize: PixelSize { get }
    /// What is known about each frame without decoding it, in their order; at least one.
    var frames: [AnimationFrame] { get }
    /// How often it plays; 0 means for ever.
    var loopCount: Int { get }
    /// Whether all frames of the file are there; one made of the first bytes of a file may lack some.
    var isComplete: Bool { get }
    /// The memory it keeps besides decoded frames, in bytes: the file, above all.
    var byteCount: Int { get }

    /// A reader that stands before the first frame.
    func makeFrameReader() -> any AnimationFrameReader
}

extension AnimationSource {
    /// How many frames there are.
    public var frameCount: Int { frames.count }
    /// How long one play takes, in seconds.
    public var duration: Double { frames.reduce(0) { $0 + $1.duration } }
}

/// Tells animations apart: it equals its copies, and what was derived from them in the same way.
public struct AnimationIdentity: Sendable, Hashable {
    private final class Origin: Sendable {}

    private let origin: Origin
    /// What was done to each frame, the first change first.
    private let changes: [String]

    /// Makes one that no other animation has.
    public init() {
        origin = Origin()
        changes = []
    }

    private init(origin: Origin, changes: [String]) {
        self.origin = origin
        self.changes = changes
    }

    /// That of the same animation with every frame changed, so that its versions, too, share frames.
    ///
    /// - Parameter change: names what is done with all its parameters; one name always makes the same of a frame.
    public func changed(by change: String) -> AnimationIdentity {
        AnimationIdentity(origin: origin, changes: changes + [change])
    }

    /// Whether they come from the same call of ``init()``, through the same changes.
    public static func == (first: AnimationIdentity, second: AnimationIdentity) -> Bool {
        first.origin === second.origin && first.changes == second.changes
    }

    /// Hashes an address and the changes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(origin))
        hasher.combine(changes)
    }
}

/// What is known about a frame of an animation without decoding it.
public struct AnimationFrame: Sendable, Hashable {
    /// How long it is shown, in seconds: as browsers do, 0.1 for a file that asks for 0.01 or less.
    public var duration: Double
    /// Whether it can be decoded without any frame before it.
    public var isKeyframe: Bool

    /// Describes a frame.
    public init(duration: Double, isKeyframe: Bool) {
        self.duration = duration
        self.isKeyframe = isKeyframe
    }
}

/// Decodes the frames of one animation, in order at the price of a frame each, or from the keyframe before.
///
/// It belongs to one thread at a time; calls block for as long as decoding takes.
public protocol AnimationFrameReader: AnyObject {
    /// The composed picture of a frame: the whole canvas, as it is to be shown.
    ///
    /// After a frame that is damaged, others can still be asked for.
    ///
    /// - Precondition: `index` is one of the source's frames.
    /// - Throws: ``WebImageError/decoding(format:reason:)``, ``WebImageError/outOfMemory(byteCount:)``,
    ///   ``WebImageError/cancelled``.
    func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer

    /// Goes over to a later version of its source, which has more frames behind the same ones, and keeps its canvas.
    ///
    /// - Returns: `false` if it can't; it then stays what it is. That is the default.
    func update(to source: any AnimationSource) -> Bool
}

extension AnimationFrameReader {
    /// Can't.
    public func update(to source: any AnimationSource) -> Bool { false }
}
