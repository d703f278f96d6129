public import FoundationEssentials
public import WebImageCore

/// Decodes a picture while its bytes arrive.
///
/// It belongs to one thread at a time; every call blocks for as long as its share of the decoding takes. What
/// ``finish()`` returns is the same, bit for bit, as ``ImageDecoder/decode(_:options:)`` makes of the whole file.
public protocol IncrementalImageDecoder: AnyObject {
    /// What the bytes so far tell about the picture; `nil` while they are too few.
    var probe: ImageProbe? { get }
    /// The frames that are whole, for a moving picture of which there is one at least; `nil` for others. Of many frames, the
    /// newest may be missing: a sixteenth at the most, and none once the file is whole.
    var animation: (any AnimationSource)? { get }

    /// Takes the next bytes of the file and decodes as far as they reach.
    ///
    /// - Throws: what ``ImageDecoder/decode(_:options:)`` throws, as soon as it is certain. No further call is allowed then.
    func append(_ bytes: Data) throws(WebImageError)

    /// The picture so far, with ``WebImageCore/Image/isPartial`` set: whole in size, clear where nothing has arrived.
    ///
    /// `nil` when there is nothing to show yet, or nothing new since the last preview. The cost of one is up to that of
    /// decoding the picture, so callers ask a few times a second at most.
    func preview() throws(WebImageError) -> Image?

    /// The whole picture, after the last bytes were appended; call it once.
    func finish() throws(WebImageError) -> Image
}
