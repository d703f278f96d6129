internal import Glibc

/// How much memory there is for the process, and how much of it is left, read from the kernel's accounts.
///
/// Where a control group of the process (as containers have) allows less than the machine has, that counts.
package enum AvailableMemory {
    static let warningFraction = 0.1
    static let criticalFraction = 0.05

    /// The machine's memory, in bytes.
    package static var physicalBytes: Int { sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE)) }

    /// All that the process may ever have, in bytes.
    ///
    /// - Parameter fileSystemRoot: put in front of `/proc` and `/sys`, for tests.
    package static func totalBytes(
        physicalBytes: Int = AvailableMemory.physicalBytes, fileSystemRoot: String = ""
    ) -> Int {
        ControlGroup.ofProcess(fileSystemRoot: fileSystemRoot).reduce(physicalBytes) { min($0, $1.limit ?? $0) }
    }

    /// What it could take now without anybody's having to wait, in bytes; ``totalBytes(physicalBytes:fileSystemRoot:)``
    /// where nothing is known.
    package static func freeBytes(
        physicalBytes: Int = AvailableMemory.physicalBytes, fileSystemRoot: String = ""
    ) -> Int {
        // In kB.
        let machine = TextFile.numbers("\(fileSystemRoot)/proc/meminfo")["MemAvailable"].map { $0 &* 1024 }
        var free = min(machine ?? physicalBytes, physicalBytes)
        for group in ControlGroup.ofProcess(fileSystemRoot: fileSystemRoot) {
            guard let limit = group.limit else { continue }
            free = min(free, limit - (group.workingSet ?? 0))
        }
        return max(0, free)
    }

    /// What that means: nothing while a tenth is left.
    static func level(fileSystemRoot: String) -> MemoryPressureLevel? {
        switch fraction(fileSystemRoot: fileSystemRoot) {
        case ..<criticalFraction: .critical
        case ..<warningFraction: .warning
        default: nil
        }
    }

    /// The part that is left of the machine's memory, or of the limit of one of the process's control groups: the least of
    /// these; 1 where nothing is known.
    static func fraction(fileSystemRoot: String) -> Double {
        var fraction = 1.0
        // Both in kB.
        let machine = TextFile.numbers("\(fileSystemRoot)/proc/meminfo")
        if let total = machine["MemTotal"], let available = machine["MemAvailable"], total > 0 {
            fraction = Double(available) / Double(total)
        }
        for group in ControlGroup.ofProcess(fileSystemRoot: fileSystemRoot) {
            guard let limit = group.limit, let workingSet = group.workingSet else { continue }
            fraction = min(fraction, 1 - Double(workingSet) / Double(limit))
        }
        return max(0, fraction)
    }
}
