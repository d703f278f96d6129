public import FoundationEssentials
public import WebImageCoding
public import WebImageCore

extension ImageCache {
    /// How an image cache goes about its work. Memory and disk have their own limits.
    public struct Configuration: Sendable {
        /// Decodes what comes from the disk, and encodes pictures that have no bytes.
        public var codecs: CodecRegistry
        /// What to refuse to decode.
        public var decodingLimits: DecodingLimits
        /// Whether queries decode what comes from the disk; `false` makes
        /// ``ImageQueryOptions/decodesForDisplay`` false for all of them.
        public var decodesForDisplay = true
        /// Whether queries may answer with an animated picture; `false` makes ``ImageQueryOptions/allowsAnimated`` false for
        /// all of them, and memory keep still pictures alone.
        public var allowsAnimated = true
        /// Read-only files that are looked at, in order, for what the disk does not have.
        public var bundled: [BundledImages] = []
        /// Chooses the bytes that go to the disk, given a picture, the bytes it came with (if any) and its key. `nil` from it
        /// means: those bytes, or else the picture encoded. It runs on a thread for decoding, and only where a picture is
        /// stored on disk; bytes that are stored without their picture stay as they are. Without a serializer, the
        /// default, bytes are never changed.
        public var serializer: (@Sendable (_ image: Image, _ data: Data?, _ key: ImageCacheKey) -> Data?)?
        /// The quality of lossy formats where a picture without bytes is stored, 0 to 1; 0.9 by default, as the picture may be
        /// encoded again some day.
        public var encodingQuality = 0.9
        /// Told about bytes that could not be decoded and pictures that could not be encoded, on a thread of the library or of
        /// the caller; `nil`, the default, is the disk cache's own.
        public var onFailure: (@Sendable (WebImageError) -> Void)?

        /// Makes the defaults.
        public init(codecs: CodecRegistry = .shared, decodingLimits: DecodingLimits = .default) {
            self.codecs = codecs
            self.decodingLimits = decodingLimits
        }
    }
}
