/// The frames of an animated image, decoded on demand.
///
/// ```swift
/// if let animation = image.animation {
///     print(animation.frameCount, animation.duration, animation.loopCount)
///     let reader = animation.makeFrameReader()
///     let second = try reader.frame(at: 1, cancellation: nil)
/// }
/// ```
///
/// A source is immutable and shared. The state of playback, the canvas on which frames are composed, is in the
/// ``AnimationFrameReader`` that each player (or pool of players) makes for itself. Players use a source under their
/// locks, so its members return immediately and never call back.
public protocol AnimationSource: Sendable {
    /// The identity of the animation. Sources with the same identity share decoded frames.
    ///
    /// A source keeps the identity that it was made with. All versions of a file that is still arriving have the
    /// identity of the first one, since the frames they have in common are the same.
    var identity: AnimationIdentity { get }
    /// The size of every frame in pixels, after orientation is applied: the file's canvas, or the thumbnail's size.
    var frameSize: PixelSize { get }
    /// The properties of each frame, known without decoding it, in order; at least one.
    var frames: [AnimationFrame] { get }
    /// How often the animation plays; 0 means forever.
    var loopCount: Int { get }
    /// Whether the source has all frames of the file; a source made from the first bytes of a file may lack some.
    var isComplete: Bool { get }
    /// The memory used besides decoded frames, in bytes; mostly the file.
    var byteCount: Int { get }

    /// Creates a reader positioned before the first frame.
    func makeFrameReader() -> any AnimationFrameReader
}

extension AnimationSource {
    /// The number of frames.
    public var frameCount: Int { frames.count }
    /// The duration of one loop.
    public var duration: Duration { frames.reduce(.zero) { $0 + $1.duration } }
}

/// Identifies an animation: equal to its copies, and to identities derived from them through the same changes.
public struct AnimationIdentity: Sendable, Hashable {
    private final class Origin: Sendable, Hashable {
        static func == (first: Origin, second: Origin) -> Bool { first === second }

        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }

    private let origin: Origin
    /// The changes made to each frame, oldest first.
    private let changes: [String]

    /// Creates a unique identity.
    public init() { self.init(origin: Origin(), changes: []) }

    private init(origin: Origin, changes: [String]) {
        self.origin = origin
        self.changes = changes
    }

    /// Returns the identity of the same animation with every frame changed. Changed versions of a file share frames,
    /// too.
    ///
    /// - Parameter change: the name of the change with all its parameters. The same name must always have the same
    ///   effect on a frame.
    public func changed(by change: String) -> AnimationIdentity {
        AnimationIdentity(origin: origin, changes: changes + [change])
    }
}

/// The properties of a frame of an animation, known without decoding it.
///
/// ```swift
/// for (index, frame) in (image.animation?.frames ?? []).enumerated() {
///     print(index, frame.duration, frame.isKeyframe, frame.part?.rect.size ?? image.pixels.size)
/// }
/// ```
public struct AnimationFrame: Codable, Sendable, Hashable {
    /// How long the frame is shown. As in browsers, 100 ms for a file that specifies 10 ms or less.
    public var duration: Duration
    /// Whether the frame can be decoded without earlier frames.
    public var isKeyframe: Bool
    /// What a GIF, APNG or WebP stores of the frame. `nil` for other formats, for frames that were made in memory, and for an animation that
    /// is still arriving in a decoder process. Readers compose frames, so only programs that show how a file is made need it.
    public var part: Part?

    /// Creates a description of a frame.
    public init(duration: Duration, isKeyframe: Bool, part: Part? = nil) {
        self.duration = duration
        self.isKeyframe = isKeyframe
        self.part = part
    }

    /// The rectangle of the canvas that a file stores for a frame, and how it changes the canvas.
    public struct Part: Codable, Sendable, Hashable {
        /// The rectangle, in pixels of the canvas as it is stored: before the orientation is applied, and not scaled to a thumbnail. It is
        /// empty for a frame outside the canvas.
        public var rect: PixelRect
        /// How the pixels are drawn.
        public var blend: Blend
        /// What happens to the rectangle before the next frame.
        public var disposal: Disposal

        /// Creates a description of the stored part of a frame.
        public init(rect: PixelRect, blend: Blend, disposal: Disposal) {
            self.rect = rect
            self.blend = blend
            self.disposal = disposal
        }
    }

    /// How the pixels of a frame are combined with the canvas.
    public enum Blend: String, Codable, Sendable, Hashable {
        /// Blended over the canvas.
        case over
        /// Replaces the canvas, also where the frame is transparent.
        case source
    }

    /// The change of a frame's rectangle before the next frame is drawn.
    public enum Disposal: String, Codable, Sendable, Hashable {
        /// Nothing.
        case keep
        /// It becomes transparent.
        case clear
        /// The previous content is restored.
        case restore
    }
}

/// Decodes the frames of one animation. Reading in order decodes each frame once; other reads start at the preceding
/// keyframe.
///
/// A reader is used by one thread at a time. Calls block while they decode.
public protocol AnimationFrameReader: AnyObject {
    /// Returns the composed image of a frame: the whole canvas, ready to be shown.
    ///
    /// After a damaged frame, other frames can still be requested.
    ///
    /// - Precondition: `index` is one of the source's frames.
    /// - Throws: ``WebImageError/decoding(format:reason:url:)``, ``WebImageError/outOfResources(reason:url:)``,
    ///   ``WebImageError/cancelled``.
    func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer
}

/// A reader that can continue with a longer version of its source, as while a file arrives.
package protocol ExtensibleFrameReader: AnimationFrameReader {
    /// Switches to a later version of the source, which has the same frames and more after them, and keeps the canvas.
    ///
    /// - Returns: `false` if the reader cannot switch; it is then unchanged.
    func update(to source: any AnimationSource) -> Bool
}
