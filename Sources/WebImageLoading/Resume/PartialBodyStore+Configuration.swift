public import FoundationEssentials

extension PartialBodyStore {
    /// Where interrupted bodies lie, and how many.
    public struct Configuration: Sendable {
        /// The directory, made with mode 0700 when it is missing. It has to be this user's; other files in it are left alone.
        public var directory: URL
        /// The most bytes that all bodies may take together; 64 MiB. Those go first that were unused for the longest time. Of
        /// one body no more is kept than this.
        public var byteLimit: Int64 = 64 << 20
        /// The most bodies; 256.
        public var countLimit = 256
        /// How long a body is kept after it was written or continued last, in seconds; 7 days.
        public var ageLimit: Double = 7 * 86_400
        /// The bytes of the file system that are left free; 256 MiB. With less, nothing more is kept.
        public var freeSpaceFloor: Int64 = 256 << 20

        /// Makes the defaults for a directory.
        public init(directory: URL) { self.directory = directory }
    }
}
