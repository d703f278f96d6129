public import FoundationEssentials

extension PartialBodyStore {
    /// The location and limits of partial bodies.
    public struct Configuration: Sendable {
        /// The directory, created with mode 0700 if it is missing. It must belong to this user; other files in it are
        /// not changed.
        public var directory: URL
        /// The maximum size of all bodies and of a single one, in bytes; 64 MiB by default. The least recently used are
        /// deleted first.
        public var byteLimit: Int64 = 64 << 20
        /// The maximum number of bodies; 256 by default.
        public var countLimit = 256
        /// How long a body is kept after it was last written or resumed, in seconds; 7 days by default.
        public var ageLimit: Double = 7 * 86_400
        /// The free space to leave on the file system, in bytes; 256 MiB by default. Below it nothing more is stored.
        public var freeSpaceFloor: Int64 = 256 << 20

        /// Creates the default configuration for a directory.
        public init(directory: URL) { self.directory = directory }
    }
}
