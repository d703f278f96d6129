/// Memory pressure as the Linux kernel tells of it.
///
/// The kernel itself wakes the library where it can: by pressure stall information (`/proc/pressure/memory`, or the
/// control group's `memory.pressure`), when tasks have waited for memory for 150 ms within 2 s (a warning), or all of them
/// at once for 100 ms (critical); and when the process's control group runs into its limit. Where there is no stall
/// information, or the process may not ask for it, the memory that is left is looked at every 5 s: less than 10 % are a
/// warning, less than 5 % critical.
///
/// All caches of a process share one thread for it, which is there only while one of them has entries.
public struct SystemMemoryPressure: MemoryPressureSource {
    private let maintenance: CacheMaintenance

    /// Makes a source; all of them are alike.
    public init() { self.init(maintenance: .shared) }

    package init(maintenance: CacheMaintenance) { self.maintenance = maintenance }

    /// Calls `receive` on the library's thread.
    public func observe(_ receive: @escaping @Sendable (MemoryPressureLevel) -> Void) -> MemoryPressureObservation {
        maintenance.observePressure(receive)
    }
}
