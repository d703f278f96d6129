package import FoundationEssentials
package import WebImageCore

/// The clock, random numbers and network state for retries.
package struct LoadEnvironment: Sendable {
    package var clock: any TimerClock = Self.sharedClock
    /// Returns a number from 0 to 1.
    package var random: @Sendable () -> Double = { Double.random(in: 0...1) }
    /// The date that `Retry-After` is compared with, and that the age of stored responses is measured by.
    package var date: @Sendable () -> Date = { Date() }
    package var connectivity: any ConnectivityMonitor = SystemConnectivity.shared
    /// The longest time that a load waits for a network connection, over all attempts.
    package var connectivityTimeLimit: Duration = .seconds(300)

    package init() {}

    private static let sharedClock = SystemTimerClock()
}
