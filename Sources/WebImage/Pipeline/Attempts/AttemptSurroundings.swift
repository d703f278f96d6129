import FoundationEssentials
import WebImageAnimation
import WebImageLoading

/// What attempts wait for and choose by; tests put their own in its place.
struct AttemptSurroundings: Sendable {
    /// Calls back when a wait is over: one timer for all loads that wait. Animations have the same need, hence its name.
    var clock: any AnimationClock = Self.sharedClock
    /// From 0 to 1.
    var random: @Sendable () -> Double = { Double.random(in: 0...1) }
    /// For dates in `Retry-After`.
    var date: @Sendable () -> Date = { Date() }
    var connectivity: any ConnectivityMonitor = SystemConnectivity.shared
    /// How long a load waits for a network, in all.
    var connectivityTimeLimit: Duration = .seconds(300)

    /// Not that of animations: loads are begun in its calls.
    private static let sharedClock = MonotonicAnimationClock()
}
