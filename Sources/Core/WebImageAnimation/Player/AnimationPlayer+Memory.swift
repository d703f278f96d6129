extension AnimationPlayer {
    /// The maximum size of the decoded frames of all animations, in bytes, in addition to two frames of each playing
    /// animation.
    ///
    /// `nil`, the default, is 20 % of the memory available to the process, but at most 60 % of the free memory, and at
    /// least 10 MiB, as in YYImage. It is measured every ten seconds at most, when an animation starts.
    public static var frameByteLimit: Int? {
        get { FramePools.shared.byteLimit }
        set { FramePools.shared.byteLimit = newValue }
    }

    /// The maximum size of the decoded frames of one animation, in bytes, or two frames if that is more. No limit by
    /// default.
    public static var animationByteLimit: Int {
        get { FramePools.shared.poolByteLimit }
        set { FramePools.shared.poolByteLimit = newValue }
    }
}
