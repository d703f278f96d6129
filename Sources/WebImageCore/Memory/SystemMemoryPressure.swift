/// Memory pressure as reported by the Linux kernel.
///
/// The library uses pressure stall information (`/proc/pressure/memory`, or the control group's `memory.pressure`) if
/// possible. The level is a warning when tasks have waited for memory for 150 ms within 2 s, and critical when all
/// tasks have waited at once for 100 ms. The library is also notified when the process's control group reaches its
/// limit.
///
/// Without stall information, or without permission to use it, the free memory is checked every 5 s. Less than 10 % is
/// a warning, less than 5 % is critical.
///
/// All caches of a process share one thread for this, which exists only while one of them has entries.
public struct SystemMemoryPressure: MemoryPressureSource {
    private let maintenance: CacheMaintenance

    /// Creates a source; all instances are equivalent.
    public init() { self.init(maintenance: .shared) }

    package init(maintenance: CacheMaintenance) { self.maintenance = maintenance }

    /// Calls `receive` on the library's thread.
    public func observe(_ receive: @escaping @Sendable (MemoryPressureLevel) -> Void) -> MemoryPressureObservation {
        maintenance.observePressure(receive)
    }
}
