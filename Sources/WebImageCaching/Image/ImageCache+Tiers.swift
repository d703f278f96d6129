extension ImageCache {
    /// The parts of a cache that a call is about.
    public struct Tiers: OptionSet, Sendable, Hashable {
        /// The bits.
        public let rawValue: Int
        /// Makes a set of bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Decoded pictures.
        public static let memory = Tiers(rawValue: 1)
        /// Bytes on disk, and read-only files beside it; see ``BundledImages``.
        public static let disk = Tiers(rawValue: 2)
        /// Both, memory first.
        public static let all: Tiers = [.memory, .disk]

        /// Where a picture is stored unless the caller says: an original everywhere, a variant in memory, since it can be
        /// made of its original again.
        public static func standard(for key: ImageCacheKey) -> Tiers { key.variant == nil ? .all : .memory }
    }
}
