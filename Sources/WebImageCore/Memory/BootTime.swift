internal import Glibc

/// The time since the machine was booted, including sleep.
package enum BootTime {
    /// The time in nanoseconds; reading it takes no system call.
    package static var nanoseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
