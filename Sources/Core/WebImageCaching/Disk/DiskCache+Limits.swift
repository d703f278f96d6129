internal import WebImageCore

/// The limits of a disk cache, which change while it is in use. They begin as those of its configuration.
struct DiskLimits: Sendable {
    var size: Int64?
    var count: Int?
    var age: Duration? {
        didSet { ageMicroseconds = Self.microseconds(age) }
    }
    var freeSpaceFloor: Int64
    /// ``age`` in microseconds, which each look-up needs.
    private(set) var ageMicroseconds: Int64

    init(_ configuration: DiskCache.Configuration) {
        size = configuration.sizeLimit
        count = configuration.countLimit
        age = configuration.ageLimit
        freeSpaceFloor = configuration.freeSpaceFloor
        ageMicroseconds = Self.microseconds(configuration.ageLimit)
    }

    /// A negative age counts as 0, `nil` is no limit.
    private static func microseconds(_ age: Duration?) -> Int64 { (age ?? .seconds(Int64.max)).clampedMicroseconds }
}

/// The limits. They can be changed at any time, on any thread. A lower one takes effect soon, on a thread of the library; ``flush()``
/// waits for that. Other processes that use the directory keep their own.
extension DiskCache {
    /// The maximum size of all files, in bytes; `nil` for the default of ``Configuration/sizeLimit``.
    ///
    /// Images that are stored as pixels have their own: ``ImageCache/pixelByteLimit``.
    public var sizeLimit: Int64? {
        get { limits.withLock { $0.size } }
        set { changeLimits { $0.size = newValue } }
    }

    /// The maximum number of entries; `nil` for no limit. See ``Configuration/countLimit``.
    public var countLimit: Int? {
        get { limits.withLock { $0.count } }
        set { changeLimits { $0.count = newValue } }
    }

    /// How long after its last access an entry is kept; `nil` for no limit. See ``Configuration/ageLimit``. Look-ups observe it at once.
    public var ageLimit: Duration? {
        get { limits.withLock { $0.age } }
        set { changeLimits { $0.age = newValue } }
    }

    /// The free space, in bytes, that the cache leaves on the file system. See ``Configuration/freeSpaceFloor``.
    public var freeSpaceFloor: Int64 {
        get { limits.withLock { $0.freeSpaceFloor } }
        set { changeLimits { $0.freeSpaceFloor = newValue } }
    }

    private func changeLimits(_ change: (inout DiskLimits) -> Void) {
        limits.withLock(change)
        // A cache that was not used yet enforces them as it does those of its configuration.
        guard isInUse else { return }
        serialQueue.submit { [self] in
            guard writer.hasCurrentIndex else { return }
            writeAccesses()
            writer.enforceLimits()
        }
    }
}
